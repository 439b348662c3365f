import { isEndPhase } from '@holdpoint/contracts/task/status';
import type { ReportCircuitState } from '@holdpoint/contracts/task/commands';
import { CIRCUIT_TIMER } from './outgoing.ts';
import { acquireCircuit, type Trial } from './recovery-requests.ts';
import { type DecisionBuilder, enqueueOpenNodes } from '../model/decision-builder.ts';
import type { Task } from '../model/state.ts';

/** The circuit of the workflow is open as far as known, so recovery must allow the start. */
export const deferTask = (builder: DecisionBuilder, circuit: string): void => {
  builder.emit({ type: 'deferred', circuit });
  requestCircuit(builder, 0);
};

/** Requests the circuit until recovery answers. */
export const requestCircuit = (builder: DecisionBuilder, resends: number): void => {
  const { circuit } = builder.task();
  if (circuit?.state !== 'waiting') return;
  builder.send(acquireCircuit(builder.task(), circuit.name, builder.now));
  builder.resendTimer(CIRCUIT_TIMER, resends);
};

/** Added to recovery's time, so that one request is enough. */
const MARGIN_MS = 250;

/** Only a closed circuit, or a half-open one for this task, lets the task start. */
export const onCircuitState = (
  builder: DecisionBuilder,
  { circuit: name, state, until }: ReportCircuitState,
): void => {
  const { circuit, phase } = builder.task();
  if (isEndPhase(phase) || circuit?.state !== 'waiting' || circuit.name !== name)
    return state === 'half_open' ? abandonTrial(builder, name) : undefined;
  if (state === 'open') {
    if (until === undefined) return;
    const dueAt = Math.max(until, builder.now) + MARGIN_MS;
    return builder.timer({ set: CIRCUIT_TIMER, dueAt, data: { attempt: 0 } });
  }
  builder.timer({ clear: CIRCUIT_TIMER });
  builder.emit({ type: 'undeferred', circuit: name, trial: state === 'half_open' });
  enqueueOpenNodes(builder);
};

const isTrialOf = ({ circuit }: Task, name: string): boolean =>
  circuit?.state === 'trial' && circuit.name === name;

/** Releases an unused trial at once. Otherwise it would block other tasks until it expires. */
const abandonTrial = (builder: DecisionBuilder, name: string): void => {
  const task = builder.task();
  if (!isTrialOf(task, name)) return builder.send(acquireCircuit(task, name, builder.now, 'abandoned'));
  if (isEndPhase(task.phase)) reportTrial(builder);
};

/** A rejection says nothing against the workflow, and a cancellation says nothing at all. */
const trialOutcome = ({ phase, outcome }: Task): Trial => {
  if (phase === 'cancelled') return 'abandoned';
  return outcome === 'failed' ? 'failed' : 'succeeded';
};

/** Reports the outcome of a trial. */
export const reportTrial = (builder: DecisionBuilder): void => {
  const task = builder.task();
  const { circuit } = task;
  if (circuit?.state === 'trial')
    builder.send(acquireCircuit(task, circuit.name, builder.now, trialOutcome(task)));
};
