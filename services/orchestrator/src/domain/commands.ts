import { errorBody } from '@holdpoint/contracts/errors';
import type { NodeId } from '@holdpoint/contracts/ids';
import type { TaskEvent } from '@holdpoint/contracts/task';
import type { Answer, Decision } from '@holdpoint/runtime/decider';
import { advance, startNode } from './advance.ts';
import { retryTimer } from './asks.ts';
import type { Draft } from './draft.ts';
import { isTerminal } from './phases.ts';
import { nodeDefinition, nodeState } from './state.ts';
import { withdraw } from './withdraw.ts';

type ByHand = { readonly by?: string | undefined; readonly reason?: string | undefined };

const illegal = (draft: Draft, verb: string, hint = ''): Answer => {
  const { id, phase } = draft.task();
  return {
    error: errorBody('ORCHESTRATOR_ILLEGAL_IN_PHASE', `task ${id} is ${phase}: it cannot be ${verb}${hint}`, {
      phase,
    }),
  };
};

export const cancel = (
  draft: Draft,
  { by = 'unknown', reason = 'cancelled by hand' }: ByHand,
): Decision<TaskEvent> => {
  if (draft.task().phase === 'cancelled') return draft.done();
  if (isTerminal(draft.task().phase)) return draft.done(illegal(draft, 'cancelled'));
  withdraw(draft, reason);
  draft.emit({ type: 'cancelled', by, reason });
  return draft.done();
};

/** Nothing new is started; what runs or waits for a decision goes on, and its outcome is kept. */
export const pause = (
  draft: Draft,
  { by = 'unknown', reason = 'paused by hand' }: ByHand,
): Decision<TaskEvent> => {
  if (isTerminal(draft.task().phase)) return draft.done(illegal(draft, 'paused'));
  if (draft.task().pausedByHand) return draft.done();
  draft.emit({ type: 'paused', by, reason });
  return draft.done();
};

export const resume = (draft: Draft, { by = 'unknown' }: ByHand, now: number): Decision<TaskEvent> => {
  if (isTerminal(draft.task().phase)) return draft.done(illegal(draft, 'resumed'));
  if (!draft.task().pausedByHand) {
    // Waiting for a person after an escalation is not a pause that can be lifted: somebody has to say what to do.
    return draft.task().phase === 'paused'
      ? draft.done(illegal(draft, 'resumed', '; retry or cancel it'))
      : draft.done();
  }
  draft.emit({ type: 'resumed', by });
  advance(draft, now);
  return draft.done();
};

/** Another attempt for what was escalated to a person: it counts like any other. */
export const retry = (
  draft: Draft,
  { node }: ByHand & { readonly node?: NodeId | undefined },
  now: number,
): Decision<TaskEvent> => {
  const { definition, phase } = draft.task();
  if (isTerminal(phase)) return draft.done(illegal(draft, 'retried'));
  const escalated = definition.nodes.filter(
    ({ id }) => nodeState(draft.task(), id).status === 'escalated' && (node === undefined || node === id),
  );
  if (escalated.length === 0)
    return draft.done(illegal(draft, 'retried', ': no node of it waits for a person'));
  for (const { id } of escalated) {
    draft.emit({
      type: 'node_retrying',
      node: id,
      attempt: nodeState(draft.task(), id).attempt + 1,
      delayMs: 0,
    });
    if (draft.task().pausedByHand) draft.timer({ set: retryTimer(id), dueAt: now });
    else startNode(draft, nodeDefinition(draft.task(), id), now);
  }
  return draft.done();
};
