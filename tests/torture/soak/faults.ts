import type { Deployment } from '../deployment/deployment.ts';
import type { Fault } from '../faults/fault.ts';
import { FAULTS } from '../faults/table.ts';

/**
 * With the short retention of a soak, repeated old messages would act again. A schema change on each turn
 * would itself be growth, and a change of form ends the processes that must live long.
 */
const UNFIT: ReadonlySet<string> = new Set([
  'duplicates',
  'rolling-upgrade',
  'change-form',
  'next-release',
  'clock-jump',
]);

/** The first instance of each service is never killed: a leak shows only in a process that lives long. */
const sparing = (fault: Fault): Fault =>
  fault.group === 'process'
    ? {
        ...fault,
        draw: (random, { instances, ...around }) =>
          fault.draw(random, { ...around, instances: instances.filter((name) => !name.endsWith('-1')) }),
      }
    : fault;

export const soakFaults = (deployment: Deployment): readonly Fault[] =>
  FAULTS.filter((fault) => !UNFIT.has(fault.name) && fault.whyNot(deployment) === undefined).map(sparing);
