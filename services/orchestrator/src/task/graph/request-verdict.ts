import type { DoubtCause } from '@holdpoint/contracts/effect/in-doubt-cause';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { askRecovery } from '../outgoing/outgoing.ts';
import type { Draft } from '../model/decision-builder.ts';
import { giveBack } from './ending.ts';
import { type Doubt, type FailedResult, nodeState } from '../model/state.ts';
import { awaitReply } from './steps.ts';

/** How an attempt failed that recovery has to say something about. */
export type Problem = {
  readonly outcome: 'failed' | 'in_doubt';
  readonly error: ErrorBody;
  readonly doubt?: Pick<Doubt, 'effectId' | 'epoch'>;
  readonly cause?: DoubtCause | undefined;
  /** What it came to, when it was carried out and that is what failed. */
  readonly result?: FailedResult;
};

/** An attempt is over without success: recovery says what follows. */
export const failed = (
  draft: Draft,
  node: NodeId,
  step: string | undefined,
  { outcome, error, doubt, cause, result }: Problem,
): void => {
  const before = nodeState(draft.task(), node);
  draft.emit({
    type: 'node_failed',
    node,
    attempt: before.attempt,
    ...(step !== undefined && { step }),
    outcome,
    error,
    ...(doubt && { doubt }),
    ...(cause !== undefined && { cause }),
    ...(result && { result }),
  });
  giveBack(draft, node, before);
  draft.send(askRecovery(draft.task(), node, 0));
  awaitReply(draft, node);
};
