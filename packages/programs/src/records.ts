import { type ErrorCode, errorBody, type ErrorBody } from '@holdpoint/contracts/errors';
import { canonicalJson } from '@holdpoint/contracts/json';
import {
  ENTRIES_MAX,
  ENTRIES_MAX_BYTES,
  type Entry,
  ENTRY_MAX_BYTES,
  STATE_MAX_BYTES,
  type WorkRecord,
} from '@holdpoint/contracts/program';
import type { Draft } from './draft.ts';
import { recordEffect } from './effects.ts';
import { sleepTimer } from './outgoing.ts';
import { entryOf, type Program } from './state.ts';

/** What is recorded, or why it is not. */
export type Recorded = { readonly entry?: Entry } | { readonly error: ErrorBody };

export const bytesOf = (value: unknown): number => Buffer.byteLength(canonicalJson(value));

const refusal = (code: ErrorCode, message: string): Recorded => ({ error: errorBody(code, message) });

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

const known = (task: Program, key: string, kind: Entry['kind']): Recorded | undefined => {
  const entry = entryOf(task, key);
  if (entry === undefined) return undefined;
  if (entry.kind === kind) return { entry };
  return refusal('ORCHESTRATOR_RECORD_CONFLICT', `${JSON.stringify(key)} is the key of a ${entry.kind}`);
};

const keep = (draft: Draft, entry: Entry): Recorded => {
  const { node, visit, attempt, lease } = draft.task();
  const problem = roomProblem(draft.task(), entry);
  if (problem !== undefined) return { error: problem };
  draft.emit({ type: 'phase_recorded', node, visit, attempt, lease, entry });
  if (entry.kind === 'sleep') draft.timer({ set: sleepTimer(entry.key), dueAt: entry.until });
  return { entry };
};

const retried = (draft: Draft, { state }: Extract<WorkRecord, { readonly kind: 'retried' }>): Recorded => {
  const { node, visit, attempt, lease, retried: before } = draft.task();
  if (before !== undefined) return {};
  if (bytesOf(state) > STATE_MAX_BYTES) return { error: stateTooLarge() };
  draft.emit({ type: 'phase_retried', node, visit, attempt, lease, state });
  return {};
};

export const stateTooLarge = (): ErrorBody =>
  errorBody(
    'PROGRAM_STATE_TOO_LARGE',
    `a state has at most ${String(STATE_MAX_BYTES)} bytes: keep what is large as an artifact`,
  );

/** Records what is not to happen twice; what is known already is answered as it is. */
export const record = (draft: Draft, wanted: WorkRecord): Recorded => {
  switch (wanted.kind) {
    case 'step':
    case 'artifact':
      return known(draft.task(), wanted.key, wanted.kind) ?? keep(draft, wanted);
    case 'sleep':
      return (
        known(draft.task(), wanted.key, 'sleep') ??
        keep(draft, { kind: 'sleep', key: wanted.key, until: draft.now + wanted.ms })
      );
    case 'effect':
      return recordEffect(draft, wanted.effect);
    case 'retried':
      return retried(draft, wanted);
  }
};
