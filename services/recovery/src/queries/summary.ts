import type { Summary } from '@holdpoint/runtime/engine/ports';
import { type History, stuckJobs } from '../attempts/history.ts';
import { type Circuit, circuitView } from '../circuit/state.ts';

export const CIRCUIT_STATUS = 'circuit_';
export const STUCK_STATUS = 'stuck';

/** Lists show only stuck jobs. The attempts of a task are read by its id. */
export const attemptsSummary = (state: History): Summary => {
  const stuck = stuckJobs(state);
  return stuck.length === 0 ? { status: 'assessed', view: null } : { status: STUCK_STATUS, view: { stuck } };
};

export const circuitSummary = (state: Circuit | undefined): Summary =>
  state === undefined
    ? { status: `${CIRCUIT_STATUS}closed`, view: null }
    : { status: `${CIRCUIT_STATUS}${state.state}`, view: circuitView(state) };
