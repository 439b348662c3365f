import type { Summary } from '@holdpoint/runtime/engine/ports';
import { circuitView } from '../circuit/circuit.ts';
import { stuckJobs } from '../attempts/history.ts';
import { isCircuit, type RecoveryState } from '../attempts/decide.ts';

export const CIRCUIT_STATUS = 'circuit_';
export const STUCK_STATUS = 'stuck';

/** Lists show circuits and stuck jobs. The attempts of a task are read by its id. */
export const summarise = (state: RecoveryState): Summary => {
  if (isCircuit(state)) return { status: `${CIRCUIT_STATUS}${state.state}`, view: circuitView(state) };
  const stuck = stuckJobs(state);
  return stuck.length === 0 ? { status: 'assessed', view: null } : { status: STUCK_STATUS, view: { stuck } };
};
