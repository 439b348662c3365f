import type { InDoubtCause } from '@holdpoint/contracts/effect/in-doubt-cause';
import { PAUSE_REASON_MAX } from '@holdpoint/contracts/recovery/commands';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { assessFailure } from '../outgoing/recovery-requests.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { releaseAttempt } from './ending.ts';
import { type InDoubtEffect, type FailedStep, nodeState } from '../model/state.ts';
import { startReplyTimer } from './steps.ts';

/** A failed attempt that needs a verdict. */
export type AttemptFailure = {
  readonly outcome: 'failed' | 'in_doubt';
  readonly error: ErrorBody;
  readonly doubt?: Pick<InDoubtEffect, 'effectId' | 'epoch'>;
  readonly cause?: InDoubtCause | undefined;
  /** The result of a step that ran and failed. */
  readonly result?: FailedStep;
  /** Why operators decide. Recovery then gives the job up, lists it as stuck and reports it. */
  readonly paused?: string;
};

/** Fails the attempt and requests a verdict from recovery. */
export const requestVerdict = (
  builder: DecisionBuilder,
  node: NodeId,
  step: string | undefined,
  { outcome, error, doubt, cause, result, paused }: AttemptFailure,
): void => {
  const before = nodeState(builder.task(), node);
  builder.emit({
    type: 'node_failed',
    node,
    attempt: before.attempt,
    ...(step !== undefined && { step }),
    outcome,
    error,
    ...(doubt && { inDoubt: doubt }),
    ...(cause !== undefined && { cause }),
    ...(result && { result }),
    ...(paused !== undefined && { paused: paused.slice(0, PAUSE_REASON_MAX).toWellFormed() }),
  });
  releaseAttempt(builder, node, before);
  builder.send(assessFailure(builder.task(), node, 0));
  startReplyTimer(builder, node);
};
