import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import type { Json } from '@holdpoint/contracts/values/json';
import {
  ENTRIES_MAX,
  ENTRIES_MAX_BYTES,
  type Entry,
  ENTRY_MAX_BYTES,
} from '@holdpoint/contracts/program/recording';
import { STATE_MAX_BYTES } from '@holdpoint/contracts/program/work';
import type { Program } from './state.ts';

/** The record, or the reason why there is none. */
export type RecordResult = { readonly entry?: Entry } | { readonly error: ErrorBody };

/** Size as JSON, independent of the order of fields. */
export const bytesOf = (value: object | Json): number => Buffer.byteLength(JSON.stringify(value));

const sizes = new WeakMap<Entry, number>();

/** The limit covers all records, so each size is computed once. */
const sizeOf = (entry: Entry): number => {
  const known = sizes.get(entry) ?? bytesOf(entry);
  sizes.set(entry, known);
  return known;
};

/** Why the record exceeds a limit. Undefined when it fits. */
export const sizeProblem = ({ entries }: Pick<Program, 'entries'>, entry: Entry): ErrorBody | undefined => {
  const bytes = sizeOf(entry);
  if (bytes > ENTRY_MAX_BYTES)
    return errorBody(
      'PROGRAM_RECORDS_TOO_LARGE',
      `the record has ${String(bytes)} bytes, limit ${String(ENTRY_MAX_BYTES)}: store it as an artifact`,
    );
  const all = entries.reduce((sum, each) => sum + sizeOf(each), bytes);
  return entries.length >= ENTRIES_MAX || all > ENTRIES_MAX_BYTES
    ? errorBody(
        'PROGRAM_RECORDS_TOO_LARGE',
        `a phase may have ${String(ENTRIES_MAX)} records with ${String(ENTRIES_MAX_BYTES)} bytes in total`,
      )
    : undefined;
};

export const stateTooLarge = (): ErrorBody =>
  errorBody(
    'PROGRAM_STATE_TOO_LARGE',
    `the state exceeds ${String(STATE_MAX_BYTES)} bytes: store large values as artifacts`,
  );
