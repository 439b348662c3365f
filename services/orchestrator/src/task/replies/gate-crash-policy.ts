import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { recordCheckpoint } from '../model/checkpoints.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { effectGate } from '../model/effect-gate.ts';
import { type CrashJudgement, afterCrash, afterDuplicate } from './gate-suggestions.ts';
import { nodeState } from '../model/state.ts';

/** The gate's rule for a lost worker or a duplicate order. */
const crashJudgement = (builder: DecisionBuilder, fact: EffectEvent): CrashJudgement | undefined => {
  const recovery = effectGate(builder.task(), fact.node)?.recovery;
  if (recovery === undefined) return undefined;
  switch (fact.type) {
    case 'in_doubt':
      return fact.cause === 'worker_lost' && fact.epoch >= 1
        ? afterCrash(recovery.onWorkerCrash, fact.next)
        : undefined;
    case 'duplicate_prevented':
      return afterDuplicate(recovery.onDuplicateSideEffectAttempt, fact.outcome);
    default:
      return undefined;
  }
};

/** Records a suggestion of the gate that the orchestrator does not follow. */
export const recordRefusedSuggestion = (builder: DecisionBuilder, fact: EffectEvent): void => {
  const { attempt, status, revision } = nodeState(builder.task(), fact.node);
  if (fact.attempt !== attempt || status !== 'running') return;
  const { refused: reason } = crashJudgement(builder, fact) ?? {};
  if (reason === undefined) return;
  const about =
    fact.type === 'in_doubt'
      ? { epoch: fact.epoch, name: 'on_worker_crash' }
      : { revision, name: 'on_duplicate_side_effect_attempt' };
  recordCheckpoint(builder, fact.node, { kind: 'suggestion_refused', ...about, reason });
};

/** Whether the gate wants people to be asked before recovery. */
export const skipsRecovery = (builder: DecisionBuilder, fact: EffectEvent): boolean =>
  crashJudgement(builder, fact)?.course === 'people';
