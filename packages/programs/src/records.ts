import { type ErrorCode, errorBody } from '@holdpoint/contracts/values/errors';
import type { Entry, WorkRecord } from '@holdpoint/contracts/program/recording';
import { STATE_MAX_BYTES } from '@holdpoint/contracts/program/work';
import type { Draft } from './decision-builder.ts';
import { recordEffect } from './effects.ts';
import { sleepTimer } from './outgoing.ts';
import { bytesOf, type Recorded, roomProblem, stateTooLarge } from './size-limits.ts';
import { entryOf, type Program } from './state.ts';

const refusal = (code: ErrorCode, message: string): Recorded => ({ error: errorBody(code, message) });

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
  draft.emit({ type: 'phase_retry_prepared', node, visit, attempt, lease, state });
  return {};
};

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
