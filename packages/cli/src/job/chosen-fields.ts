import type { ListDisplay } from '@holdpoint/workflows/config/config';
import type { JobRecord } from './record.ts';

/** Converts the label `Exit code` to the field `exit_code`. */
const plain = (name: string): string => name.trim().toLowerCase().replaceAll(/[ -]+/g, '_');

/** The fields chosen in the repository's configuration, with its order and labels (default: all fields). */
export const chosenFields = (record: JobRecord, { fields, labels }: ListDisplay): JobRecord => {
  const labelOf = new Map([...labels].map(([name, label]) => [plain(name), label]));
  return Object.fromEntries(
    (fields ?? Object.keys(record)).flatMap((name): readonly (readonly [string, string])[] => {
      const field = plain(name);
      const value = Object.hasOwn(record, field) ? record[field] : undefined;
      return value === undefined ? [] : [[labelOf.get(field) ?? field, value]];
    }),
  );
};
