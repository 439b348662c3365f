import type { Json } from '@holdpoint/contracts/values/json';

/** What stands for nothing: a function that gives nothing gives nothing when it is not run again either. */
const NOTHING = { $holdpoint: 'nothing' } as const;

export const toRecord = (value: Json | undefined): Json => (value === undefined ? NOTHING : value);

export const fromRecord = (recorded: Json): Json | undefined =>
  typeof recorded === 'object' &&
  recorded !== null &&
  '$holdpoint' in recorded &&
  recorded['$holdpoint'] === NOTHING.$holdpoint
    ? undefined
    : recorded;
