import type { World } from '../world.ts';

/** Outcomes of a start. Without a start the order need not name its approval. */
const NOTED = new Set(['applied', 'failed_clean', 'not_applied', 'in_doubt']);

export const checkNotices = ({ checker, books, shown }: World): void => {
  for (const [id, state] of books.approvals.states) {
    if (state.status !== 'closed') continue;
    checker.expect(
      'every surface shows the resolution of an approval',
      shown.get(id)?.includes('resolved') === true,
      id,
      () => `shown: ${(shown.get(id) ?? []).join(', ')}`,
    );
    const { effectId } = state.request;
    const effect = books.executor.stateOf(effectId);
    const granted = 'entry' in effect && effect.entry?.order.grant === state.decided.grant;
    if (!granted || state.decided.grant === undefined || !NOTED.has(effect.status)) continue;
    checker.expect(
      'an approval records the outcome of its effect',
      state.outcome?.outcome === effect.status,
      id,
      () => `${effectId} is ${effect.status}, noted is ${state.outcome?.outcome ?? 'nothing'}`,
    );
  }
};
