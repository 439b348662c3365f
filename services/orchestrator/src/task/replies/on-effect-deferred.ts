import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { Draft } from '../model/decision-builder.ts';
import { HELD } from '../model/evolve.ts';
import { nodeState } from '../model/state.ts';

/** An order may not begin because what it talks to fails; or it begins. Shown once for each attempt. */
export const holdUp = (draft: Draft, fact: EffectEvent): void => {
  const { held, marks = [], status, attempt } = nodeState(draft.task(), fact.node);
  if (status !== 'running' || fact.attempt !== attempt) return;
  const { node } = fact;
  if (fact.type === 'deferred' && !marks.includes(HELD))
    draft.emit({ type: 'node_deferred', node, attempt, target: fact.target, reason: fact.reason });
  if (fact.type === 'undeferred' && held !== undefined)
    draft.emit({ type: 'node_undeferred', node, attempt });
};
