import type { AdmitTask } from '@holdpoint/contracts/task/commands';
import { repeatTimer } from '@holdpoint/runtime/decider';
import { CIRCUIT_TIMER, enterCircuit, type Trial } from './outgoing.ts';
import type { Draft } from '../model/decision-builder.ts';
import { isTerminal } from '../model/phases.ts';
import type { Task } from '../model/state.ts';
import { touchOpen } from '../model/touch.ts';

/** The circuit of its workflow is open, as far as is known: nothing starts before recovery lets it. */
export const holdTask = (draft: Draft, circuit: string): void => {
  draft.emit({ type: 'deferred', circuit });
  askToEnter(draft, 0);
};

/** Asks whether the task may start, and goes on asking. */
export const askToEnter = (draft: Draft, ask: number): void => {
  const { circuit } = draft.task();
  if (circuit?.state !== 'waiting') return;
  draft.send(enterCircuit(draft.task(), circuit.name, draft.now));
  draft.timer(repeatTimer(CIRCUIT_TIMER, ask, draft.now));
};

/** A little later than recovery's own clock says, so that one question is enough. */
const MARGIN_MS = 250;

/** What recovery says of it. Only a circuit that is closed, or half open for this task, lets it start. */
export const admitted = (draft: Draft, { circuit: name, state, until }: AdmitTask): void => {
  const { circuit, phase } = draft.task();
  if (isTerminal(phase) || circuit?.state !== 'waiting' || circuit.name !== name)
    return state === 'half_open' ? turnDown(draft, name) : undefined;
  if (state === 'open') {
    if (until === undefined) return;
    const dueAt = Math.max(until, draft.now) + MARGIN_MS;
    return draft.timer({ set: CIRCUIT_TIMER, dueAt, data: { ask: 0 } });
  }
  draft.timer({ clear: CIRCUIT_TIMER });
  draft.emit({ type: 'undeferred', circuit: name, trial: state === 'half_open' });
  touchOpen(draft);
};

const isTrialOf = ({ circuit }: Task, name: string): boolean =>
  circuit?.state === 'trial' && circuit.name === name;

/** Whoever is let try and does not says so at once, or nobody else could try until his time is over. */
const turnDown = (draft: Draft, name: string): void => {
  const task = draft.task();
  if (!isTrialOf(task, name)) return draft.send(enterCircuit(task, name, draft.now, 'left'));
  if (isTerminal(task.phase)) leaveCircuit(draft);
};

/** What people have said no to says nothing against the workflow, and what was called off says nothing at all. */
const trialOf = ({ phase, outcome }: Task): Trial => {
  if (phase === 'cancelled') return 'left';
  return outcome === 'failed' ? 'badly' : 'well';
};

/** Whoever was let try says what has become of it. */
export const leaveCircuit = (draft: Draft): void => {
  const task = draft.task();
  const { circuit } = task;
  if (circuit?.state === 'trial') draft.send(enterCircuit(task, circuit.name, draft.now, trialOf(task)));
};
