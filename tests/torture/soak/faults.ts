import type { Deployment } from '../deployment/deployment.ts';
import type { Fault } from '../faults/fault.ts';
import { FAULTS } from '../faults/table.ts';

/**
 * Not for a soak. What ended is kept for minutes only here, so what sends old messages again would bring it back; and a
 * change of the schema at every turn would itself be growth.
 */
const UNFIT: ReadonlySet<string> = new Set(['duplicates', 'rolling-upgrade', 'clock-jump']);

/**
 * The first of each service is left alive, whatever else happens to it: a process that ends every few minutes never lives to
 * show a leak.
 */
const sparing = (fault: Fault): Fault =>
  fault.group === 'process'
    ? {
        ...fault,
        draw: (random, { instances, ...around }) =>
          fault.draw(random, { ...around, instances: instances.filter((name) => !name.endsWith('-1')) }),
      }
    : fault;

/** The faults of a soak on this deployment. */
export const soakFaults = (deployment: Deployment): readonly Fault[] =>
  FAULTS.filter((fault) => !UNFIT.has(fault.name) && fault.whyNot(deployment) === undefined).map(sparing);
