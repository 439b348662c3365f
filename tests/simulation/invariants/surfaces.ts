import type { World } from '../world.ts';

/** What a start can come to, as the ledger has it. An order that came to no start need not say whose it was. */
const NOTED = new Set(['applied', 'failed_clean', 'not_applied', 'in_doubt']);

/** In the end every surface has shown the end of every approval, and every approval knows what became of its effect. */
export const checkTold = ({ judge, books, shown }: World): void => {
  for (const [id, state] of books.approvals.states) {
    if (state.status !== 'closed') continue;
    judge.expect(
      'every surface shows the resolution of an approval',
      shown.get(id)?.includes('resolved') === true,
      id,
      () => `shown: ${(shown.get(id) ?? []).join(', ')}`,
    );
    const { effectId } = state.request;
    const effect = books.executor.stateOf(effectId);
    const granted = 'entry' in effect && effect.entry?.order.grant === state.decided.grant;
    if (!granted || state.decided.grant === undefined || !NOTED.has(effect.status)) continue;
    judge.expect(
      'an approval records the outcome of its effect',
      state.outcome?.outcome === effect.status,
      id,
      () => `${effectId} is ${effect.status}, noted is ${state.outcome?.outcome ?? 'nothing'}`,
    );
  }
};
