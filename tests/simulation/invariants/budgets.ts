import type { TaskChange } from '../event-states.ts';
import type { World } from '../world.ts';

/** A budget grows once for each approved extension. */
export const watchBudgets = ({ checker, books }: World) => {
  const used = new Set<string>();
  return ({ before, event }: TaskChange): void => {
    if (before.phase === 'absent') return;
    if (event.type === 'budget_extended') {
      const approval = books.approvals.stateOf(event.approval);
      const closed = approval.status === 'closed' ? approval : undefined;
      const budget = closed?.request.effect.args['budget'];
      const extension = (budget as { readonly extension?: unknown } | undefined)?.extension;
      checker.expect(
        'a budget is extended exactly once for each approval',
        closed?.decided.outcome === 'approved' &&
          extension === (before.extensions ?? 0) + 1 &&
          !used.has(event.approval),
        before.id,
        () => JSON.stringify({ event, extension, before: before.extensions, decided: closed?.decided }),
      );
      used.add(event.approval);
    }
  };
};
