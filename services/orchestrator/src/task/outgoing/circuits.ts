import type { ReportCircuitState } from '@holdpoint/contracts/task/commands';
import { repeatTimer } from '@holdpoint/runtime/decider';
import { CIRCUIT_TIMER, acquireCircuit, type Trial } from './outgoing.ts';
import { type DecisionBuilder, enqueueOpenNodes } from '../model/decision-builder.ts';
import { isTerminal } from '../model/phases.ts';
import type { Task } from '../model/state.ts';

/** The circuit of its workflow is open, as far as is known: nothing starts before recovery lets it. */
export const deferTask = (builder: DecisionBuilder, circuit: string): void => {
  builder.emit({ type: 'deferred', circuit });
  requestCircuit(builder, 0);
};

/** Asks whether the task may start, and goes on asking. */
export const requestCircuit = (builder: DecisionBuilder, ask: number): void => {
  const { circuit } = builder.task();
  if (circuit?.state !== 'waiting') return;
  builder.send(acquireCircuit(builder.task(), circuit.name, builder.now));
  builder.timer(repeatTimer(CIRCUIT_TIMER, ask, builder.now));
};

/** A little later than recovery's own clock says, so that one question is enough. */
const MARGIN_MS = 250;

/** What recovery says of it. Only a circuit that is closed, or half open for this task, lets it start. */
export const onCircuitState = (
  builder: DecisionBuilder,
  { circuit: name, state, until }: ReportCircuitState,
): void => {
  const { circuit, phase } = builder.task();
  if (isTerminal(phase) || circuit?.state !== 'waiting' || circuit.name !== name)
    return state === 'half_open' ? abandonTrial(builder, name) : undefined;
  if (state === 'open') {
    if (until === undefined) return;
    const dueAt = Math.max(until, builder.now) + MARGIN_MS;
    return builder.timer({ set: CIRCUIT_TIMER, dueAt, data: { ask: 0 } });
  }
  builder.timer({ clear: CIRCUIT_TIMER });
  builder.emit({ type: 'undeferred', circuit: name, trial: state === 'half_open' });
  enqueueOpenNodes(builder);
};

const isTrialOf = ({ circuit }: Task, name: string): boolean =>
  circuit?.state === 'trial' && circuit.name === name;

/** Whoever is let try and does not says so at once, or nobody else could try until his time is over. */
const abandonTrial = (builder: DecisionBuilder, name: string): void => {
  const task = builder.task();
  if (!isTrialOf(task, name)) return builder.send(acquireCircuit(task, name, builder.now, 'left'));
  if (isTerminal(task.phase)) reportTrial(builder);
};

/** What people have said no to says nothing against the workflow, and what was called off says nothing at all. */
const trialOutcome = ({ phase, outcome }: Task): Trial => {
  if (phase === 'cancelled') return 'left';
  return outcome === 'failed' ? 'badly' : 'well';
};

/** Whoever was let try says what has become of it. */
export const reportTrial = (builder: DecisionBuilder): void => {
  const task = builder.task();
  const { circuit } = task;
  if (circuit?.state === 'trial')
    builder.send(acquireCircuit(task, circuit.name, builder.now, trialOutcome(task)));
};
