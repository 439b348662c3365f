import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { checkpoint } from '../model/checkpoints.ts';
import type { Draft } from '../model/decision-builder.ts';
import { effectGate } from '../model/effect-gate.ts';
import { type Aftermath, afterCrash, afterDuplicate } from './gate-suggestions.ts';
import { nodeState } from '../model/state.ts';

/** What the gate of an effect says of a lost worker, or of an order that came again. */
const aftermathOf = (draft: Draft, fact: EffectEvent): Aftermath | undefined => {
  const recovery = effectGate(draft.task(), fact.node)?.recovery;
  if (recovery === undefined) return undefined;
  switch (fact.type) {
    case 'in_doubt':
      return fact.cause === 'worker_lost' && fact.epoch >= 1
        ? afterCrash(recovery.onWorkerCrash, fact.next)
        : undefined;
    case 'duplicate_prevented':
      return afterDuplicate(recovery.onDuplicateSideEffectAttempt, fact.standing);
    default:
      return undefined;
  }
};

/** Records what a gate suggests about an effect under way, and the orchestrator does not do. */
export const noteSuggestion = (draft: Draft, fact: EffectEvent): void => {
  const { attempt, status, revision } = nodeState(draft.task(), fact.node);
  if (fact.attempt !== attempt || status !== 'running') return;
  const { refused: reason } = aftermathOf(draft, fact) ?? {};
  if (reason === undefined) return;
  const about =
    fact.type === 'in_doubt'
      ? { epoch: fact.epoch, name: 'on_worker_crash' }
      : { revision, name: 'on_duplicate_side_effect_attempt' };
  checkpoint(draft, fact.node, { kind: 'suggestion_refused', ...about, reason });
};

/** Whether people are asked what became of it, without recovery having its say. */
export const asksPeopleAtOnce = (draft: Draft, fact: EffectEvent): boolean =>
  aftermathOf(draft, fact)?.course === 'people';
