import { errorBody } from '@holdpoint/contracts/values/errors';
import type { WorkRequest, WorkAnswer } from '@holdpoint/contracts/program/work';
import { asSent, digestOf } from '@holdpoint/contracts/values/json';
import type { Answer, Decision } from '@holdpoint/runtime/decider';
import type { DecisionBuilder } from './decision-builder.ts';
import { extendLease, workInputFor } from './order-phase.ts';
import { ORDER_TIMER } from './outgoing.ts';
import { phaseEnded } from './phase-end.ts';
import { record } from './records.ts';
import type { Program, ProgramTaskEvent } from './state.ts';

const answerWith = (builder: DecisionBuilder, more: Omit<WorkAnswer, 'lease' | 'leaseMs'> = {}): Answer => ({
  ok: asSent({ lease: builder.task().lease, leaseMs: builder.timing.leaseMs, ...more }),
});

const lost = ({ id, phase, lease }: Program): Answer => ({
  error: errorBody('ORCHESTRATOR_WORK_LOST', `the lease has ended: task ${id} is ${phase}`, { lease }),
});

/** Only the holder of the lease counts. An unclaimed order goes to the first worker that answers it. */
const holds = (task: Program, { lease, worker }: WorkRequest): boolean => {
  if (lease !== task.lease) return false;
  return task.status === 'ordered' || (task.status === 'started' && task.worker === worker);
};

const take = (builder: DecisionBuilder, worker: string): void => {
  const { status, node, visit, attempt, lease } = builder.task();
  if (status !== 'ordered') return;
  builder.emit({ type: 'phase_started', node, visit, attempt, lease, worker });
  builder.timer({ clear: ORDER_TIMER });
};

/** The digest lets a worker compare its order. An input that was sent with the order may be older than this one. */
const claimedBy = (task: Program, withInput: boolean): Pick<WorkAnswer, 'claimed' | 'input'> => {
  const { node, visit, attempt, activation } = task;
  const input = workInputFor(task);
  return {
    claimed: { node, visit, attempt, activation, inputSha256: digestOf(input) },
    ...(withInput && { input }),
  };
};

/** Handles a request of a worker. */
export const onWorkMessage = (builder: DecisionBuilder, said: WorkRequest): Decision<ProgramTaskEvent> => {
  const { request: say, worker, lease } = said;
  const { done } = builder.task();
  if (say.kind === 'end' && done?.lease === lease && done.worker === worker)
    return builder.done(answerWith(builder));
  if (!holds(builder.task(), said)) return builder.done(lost(builder.task()));
  take(builder, worker);
  switch (say.kind) {
    case 'claim':
      extendLease(builder);
      return builder.done(answerWith(builder, claimedBy(builder.task(), say.withInput === true)));
    case 'heartbeat':
      extendLease(builder);
      return builder.done(answerWith(builder));
    case 'record': {
      extendLease(builder);
      const recorded = record(builder, say.record);
      if ('error' in recorded) return builder.done({ error: recorded.error });
      return builder.done(answerWith(builder, recorded));
    }
    case 'end':
      phaseEnded(builder, say.end);
      return builder.done(answerWith(builder));
  }
};
