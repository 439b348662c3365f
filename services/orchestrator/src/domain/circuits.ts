import type { AdmitTask } from '@holdpoint/contracts/task';
import { CIRCUIT_TIMER, enterCircuit, repeatTimer } from './asks.ts';
import type { Draft } from './draft.ts';
import { touchOpen } from './touch.ts';

/** The circuit of its workflow is open, as far as is known: nothing starts before recovery lets it. */
export const holdTask = (draft: Draft, circuit: string): void => {
  draft.emit({ type: 'held', circuit });
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
  const { circuit } = draft.task();
  if (circuit?.state !== 'waiting' || circuit.name !== name) return;
  if (state === 'open') {
    if (until === undefined) return;
    const dueAt = Math.max(until, draft.now) + MARGIN_MS;
    return draft.timer({ set: CIRCUIT_TIMER, dueAt, data: { ask: 0 } });
  }
  draft.timer({ clear: CIRCUIT_TIMER });
  draft.emit({ type: 'released', circuit: name, trial: state === 'half_open' });
  touchOpen(draft);
};

/** Whoever was let try says how it ended. A task that was called off says nothing. */
export const leaveCircuit = (draft: Draft, ended: 'well' | 'badly'): void => {
  const { circuit } = draft.task();
  if (circuit?.state === 'trial') draft.send(enterCircuit(draft.task(), circuit.name, draft.now, ended));
};
