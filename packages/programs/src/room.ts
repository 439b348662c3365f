import { type ErrorBody, errorBody } from '@holdpoint/contracts/errors';
import { canonicalJson } from '@holdpoint/contracts/json';
import {
  ENTRIES_MAX,
  ENTRIES_MAX_BYTES,
  type Entry,
  ENTRY_MAX_BYTES,
  STATE_MAX_BYTES,
} from '@holdpoint/contracts/program';
import type { Program } from './state.ts';

/** What is recorded, or why it is not. */
export type Recorded = { readonly entry?: Entry } | { readonly error: ErrorBody };

export const bytesOf = (value: unknown): number => Buffer.byteLength(canonicalJson(value));

/** Why there is no room for it; nothing when there is. */
export const roomProblem = ({ entries }: Pick<Program, 'entries'>, entry: unknown): ErrorBody | undefined => {
  const bytes = bytesOf(entry);
  if (bytes > ENTRY_MAX_BYTES)
    return errorBody(
      'PROGRAM_RECORDS_TOO_LARGE',
      `a record has ${String(bytes)} bytes, at most ${String(ENTRY_MAX_BYTES)} are kept: keep it as an artifact`,
    );
  const all = entries.reduce((sum, each) => sum + bytesOf(each), bytes);
  return entries.length >= ENTRIES_MAX || all > ENTRIES_MAX_BYTES
    ? errorBody(
        'PROGRAM_RECORDS_TOO_LARGE',
        `a phase keeps at most ${String(ENTRIES_MAX)} records of ${String(ENTRIES_MAX_BYTES)} bytes in all`,
      )
    : undefined;
};

export const stateTooLarge = (): ErrorBody =>
  errorBody(
    'PROGRAM_STATE_TOO_LARGE',
    `a state has at most ${String(STATE_MAX_BYTES)} bytes: keep what is large as an artifact`,
  );
