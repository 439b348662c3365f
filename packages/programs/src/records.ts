import { type ErrorCode, errorBody } from '@holdpoint/contracts/values/errors';
import type { Entry, WorkRecord } from '@holdpoint/contracts/program/recording';
import { STATE_MAX_BYTES } from '@holdpoint/contracts/program/work';
import type { DecisionBuilder } from './decision-builder.ts';
import { recordEffect } from './effects.ts';
import { sleepTimer } from './outgoing.ts';
import { bytesOf, type RecordResult, sizeProblem, stateTooLarge } from './size-limits.ts';
import { entryOf, type Program } from './state.ts';

const refusal = (code: ErrorCode, message: string): RecordResult => ({ error: errorBody(code, message) });

const known = (task: Program, key: string, kind: Entry['kind']): RecordResult | undefined => {
  const entry = entryOf(task, key);
  if (entry === undefined) return undefined;
  if (entry.kind === kind) return { entry };
  return refusal('ORCHESTRATOR_RECORD_CONFLICT', `${JSON.stringify(key)} is the key of a ${entry.kind}`);
};

const keep = (builder: DecisionBuilder, entry: Entry): RecordResult => {
  const { node, visit, attempt, lease } = builder.task();
  const problem = sizeProblem(builder.task(), entry);
  if (problem !== undefined) return { error: problem };
  builder.emit({ type: 'phase_recorded', node, visit, attempt, lease, entry });
  if (entry.kind === 'sleep') builder.timer({ set: sleepTimer(entry.key), dueAt: entry.until });
  return { entry };
};

const retried = (
  builder: DecisionBuilder,
  { state }: Extract<WorkRecord, { readonly kind: 'retry_state' }>,
): RecordResult => {
  const { node, visit, attempt, lease, retried: before } = builder.task();
  if (before?.attempt === attempt) return {};
  if (bytesOf(state) > STATE_MAX_BYTES) return { error: stateTooLarge() };
  builder.emit({ type: 'phase_retry_prepared', node, visit, attempt, lease, state });
  return {};
};

/** Records a step, sleep, artifact or effect. A known key returns its record. */
export const record = (builder: DecisionBuilder, wanted: WorkRecord): RecordResult => {
  switch (wanted.kind) {
    case 'step':
    case 'artifact':
    case 'review':
      return known(builder.task(), wanted.key, wanted.kind) ?? keep(builder, wanted);
    case 'sleep':
      return (
        known(builder.task(), wanted.key, 'sleep') ??
        keep(builder, { kind: 'sleep', key: wanted.key, until: builder.now + wanted.ms })
      );
    case 'effect':
      return recordEffect(builder, wanted.effect);
    case 'retry_state':
      return retried(builder, wanted);
  }
};
