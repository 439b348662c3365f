import type { Draft } from './decision-builder.ts';
import { allNodes } from './nodes.ts';
import { hasEnded } from './state.ts';

/** After a time in which nothing started: whatever could have gone on meanwhile. */
export const touchOpen = (draft: Draft): void => {
  const { definition, nodes } = draft.task();
  const states = allNodes(nodes);
  draft.touch(
    definition.nodes.flatMap(({ id }, place) => {
      const state = states[place];
      return state !== undefined && !hasEnded(state) ? [id] : [];
    }),
  );
};
