import { workflowCircuit } from '@holdpoint/contracts/recovery/circuit';
import { circuitIdOf } from '@holdpoint/contracts/values/ids';
import type { Cluster } from '../services/cluster.ts';
import { WORKFLOWS } from '../workload/graphs.ts';
import type { Call } from './approvers.ts';
import type { World } from '../world.ts';

const WITHIN_MS = 40_000;
const OPEN_AT_MOST_MS = 30_000;
const OPENS = 0.15;

/** Operators who open workflow circuits for a while and close them again. */
export const startBreakers = ({ timeline, choices }: World, cluster: Cluster, call: Call) => {
  const set = (target: string, state: 'open' | 'closed'): void =>
    call(cluster.recovery, {
      kind: 'circuit',
      aggregate: circuitIdOf(target),
      message: { kind: 'set_circuit', payload: { target, state }, by: 'ada' },
    });

  for (const target of WORKFLOWS.map(workflowCircuit)) {
    if (!choices.happens(`${target} is opened`, OPENS)) continue;
    const at = choices.between(`when ${target} is opened`, 0, WITHIN_MS);
    timeline.in(at, () => set(target, 'open'));
    const length = choices.between(`how long ${target} is open`, 0, OPEN_AT_MOST_MS);
    timeline.in(at + length, () => set(target, 'closed'));
  }
  return { reset: (target: string): void => set(target, 'closed') };
};
