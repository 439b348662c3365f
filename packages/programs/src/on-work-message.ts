import { errorBody } from '@holdpoint/contracts/values/errors';
import type { WorkRequest, WorkAnswer } from '@holdpoint/contracts/program/work';
import { asSent } from '@holdpoint/contracts/values/json';
import type { Answer, Decision } from '@holdpoint/runtime/decider';
import type { DecisionBuilder } from './decision-builder.ts';
import { extendLease, LEASE_MS, workInputFor } from './order-phase.ts';
import { ORDER_TIMER } from './outgoing.ts';
import { phaseEnded } from './phase-end.ts';
import { record } from './records.ts';
import type { Program, ProgramTaskEvent } from './state.ts';

const answerWith = (task: Program, more: Omit<WorkAnswer, 'lease' | 'leaseMs'> = {}): Answer => ({
  ok: asSent({ lease: task.lease, leaseMs: LEASE_MS, ...more }),
});

const lost = ({ id, phase, lease }: Program): Answer => ({
  error: errorBody('ORCHESTRATOR_WORK_LOST', `the lease is over: task ${id} is ${phase}`, { lease }),
});

/** Only the holder of the lease is heard; an order that nobody has taken belongs to whoever speaks of it first. */
const holds = (task: Program, { lease, worker }: WorkRequest): boolean => {
  if (lease !== task.lease) return false;
  return task.status === 'ordered' || (task.status === 'started' && task.worker === worker);
};

const take = (draft: DecisionBuilder, worker: string): void => {
  const { status, node, visit, attempt, lease } = draft.task();
  if (status !== 'ordered') return;
  draft.emit({ type: 'phase_started', node, visit, attempt, lease, worker });
  draft.timer({ clear: ORDER_TIMER });
};

/** What a worker says of the phase that it has been given. */
export const onWorkMessage = (draft: DecisionBuilder, said: WorkRequest): Decision<ProgramTaskEvent> => {
  const { request: say, worker, lease } = said;
  const { done } = draft.task();
  if (say.kind === 'end' && done?.lease === lease && done.worker === worker)
    return draft.done(answerWith(draft.task()));
  if (!holds(draft.task(), said)) return draft.done(lost(draft.task()));
  take(draft, worker);
  switch (say.kind) {
    case 'claim':
      extendLease(draft);
      return draft.done(
        answerWith(draft.task(), say.withInput === true ? { input: workInputFor(draft.task()) } : {}),
      );
    case 'heartbeat':
      extendLease(draft);
      return draft.done(answerWith(draft.task()));
    case 'record': {
      extendLease(draft);
      const recorded = record(draft, say.record);
      if ('error' in recorded) return draft.done({ error: recorded.error });
      return draft.done(answerWith(draft.task(), recorded));
    }
    case 'end':
      phaseEnded(draft, say.end);
      return draft.done(answerWith(draft.task()));
  }
};
