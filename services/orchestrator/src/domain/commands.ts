import { errorBody } from '@holdpoint/contracts/errors';
import type { CommandId, NodeId } from '@holdpoint/contracts/ids';
import type { TaskEvent } from '@holdpoint/contracts/task';
import type { Answer, Decision } from '@holdpoint/runtime/decider';
import { advance, startNode } from './advance.ts';
import { retryTimer } from './asks.ts';
import type { Draft } from './draft.ts';
import { isTerminal } from './phases.ts';
import { nodeState } from './state.ts';
import { endTask } from './withdraw.ts';

type Said = { readonly by?: string | undefined; readonly reason?: string | undefined };

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
  { by = 'unknown', reason = 'cancelled by hand' }: Said,
  now: number,
): Decision<TaskEvent> => {
  if (draft.task().phase === 'cancelled') return draft.done();
  if (isTerminal(draft.task().phase)) return draft.done(illegal(draft, 'cancelled'));
  endTask(draft, { type: 'cancelled', by, reason }, now);
  return draft.done();
};

/** Nothing new is started; what runs or waits for a decision goes on, and its outcome is kept. */
export const pause = (
  draft: Draft,
  { by = 'unknown', reason = 'paused by hand' }: Said,
  command: CommandId,
): Decision<TaskEvent> => {
  if (isTerminal(draft.task().phase)) return draft.done(illegal(draft, 'paused'));
  if (draft.task().pausedByHand) return draft.done();
  draft.emit({ type: 'paused', by, reason, command });
  return draft.done();
};

export const resume = (
  draft: Draft,
  { by = 'unknown' }: Said,
  command: CommandId,
  now: number,
): Decision<TaskEvent> => {
  if (isTerminal(draft.task().phase)) return draft.done(illegal(draft, 'resumed'));
  if (!draft.task().pausedByHand) {
    // Waiting for a person after an escalation is not a pause that can be lifted: somebody has to say what to do.
    return draft.task().phase === 'paused'
      ? draft.done(illegal(draft, 'resumed', '; retry or cancel it'))
      : draft.done();
  }
  draft.emit({ type: 'resumed', by, command });
  advance(draft, now);
  return draft.done();
};

type Retry = { readonly node?: NodeId | undefined; readonly attempt?: number | undefined };

/** Another attempt for what was escalated to a person: it counts like any other. */
export const retry = (
  draft: Draft,
  { node, attempt }: Retry,
  command: CommandId,
  now: number,
): Decision<TaskEvent> => {
  const { definition, phase } = draft.task();
  if (isTerminal(phase)) return draft.done(illegal(draft, 'retried'));
  const meant = definition.nodes
    .filter(({ id }) => node === undefined || node === id)
    .map((each) => ({ definition: each, state: nodeState(draft.task(), each.id) }));
  const escalated = meant.filter(
    ({ state }) => state.status === 'escalated' && (attempt === undefined || attempt === state.attempt),
  );
  if (escalated.length === 0) {
    const followed = attempt !== undefined && meant.some(({ state }) => state.attempt > attempt);
    return draft.done(
      followed ? undefined : illegal(draft, 'retried', ': no such attempt waits for a person'),
    );
  }
  for (const { definition: each, state } of escalated) {
    const next = state.attempt + 1;
    draft.emit({ type: 'node_retrying', node: each.id, attempt: next, delayMs: 0, command });
    if (draft.task().pausedByHand) draft.timer({ set: retryTimer(each.id), dueAt: now });
    else startNode(draft, each, now);
  }
  return draft.done();
};
