import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { recordCheckpoint } from '../model/checkpoints.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { effectGate } from '../model/effect-gate.ts';
import { type CrashSuggestion, afterCrash, afterDuplicate } from './gate-suggestions.ts';
import { nodeState } from '../model/state.ts';

/** The gate's rule for a lost worker or a duplicate order. */
const crashJudgement = (builder: DecisionBuilder, event: EffectEvent): CrashSuggestion | undefined => {
  if (event.type !== 'in_doubt' && event.type !== 'duplicate_prevented') return undefined;
  const recovery = effectGate(builder.task(), event.node)?.recovery;
  if (recovery === undefined) return undefined;
  if (event.type === 'duplicate_prevented')
    return afterDuplicate(recovery.onDuplicateSideEffectAttempt, event.outcome);
  return event.cause === 'worker_lost' && event.epoch >= 1
    ? afterCrash(recovery.onWorkerCrash, event.next)
    : undefined;
};

/** Records a suggestion of the gate that the orchestrator does not follow. */
export const recordRefusedSuggestion = (builder: DecisionBuilder, event: EffectEvent): void => {
  const { attempt, status, revision } = nodeState(builder.task(), event.node);
  if (event.attempt !== attempt || status !== 'running') return;
  const { refused: reason } = crashJudgement(builder, event) ?? {};
  if (reason === undefined) return;
  const about =
    event.type === 'in_doubt'
      ? { epoch: event.epoch, name: 'on_worker_crash' }
      : { revision, name: 'on_duplicate_side_effect_attempt' };
  recordCheckpoint(builder, event.node, { kind: 'suggestion_refused', ...about, reason });
};

/** Whether the gate wants people to be asked before recovery. */
export const skipsRecovery = (builder: DecisionBuilder, event: EffectEvent): boolean =>
  crashJudgement(builder, event)?.course === 'people';
