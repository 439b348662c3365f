import type { CallbackState } from '@holdpoint/approvals/callback/callback';
import { HeldInputs } from '@holdpoint/contracts/effect/hold';
import { isFinal } from '@holdpoint/contracts/task/held-effect';
import { canonicalJson } from '@holdpoint/contracts/values/json';
import { taskIn } from '../event-states.ts';
import type { World } from '../world.ts';

const STATE_OF_PHASE: Readonly<Record<string, readonly string[]>> = {
  completed: ['applied', 'cancelled'],
  failed: ['failed', 'rejected', 'cancelled'],
  cancelled: ['cancelled', 'rejected', 'applied'],
};

/** Each end of a held effect reaches the receiver at least once, or the store says that it did not. */
export const checkCallbacks = ({ checker, books, received }: World, held: Iterable<string>): void => {
  const all = [...books.approvals.states].flatMap(([id, state]) =>
    books.approvals.kindOf(id) === 'callback' ? [state as unknown as CallbackState] : [],
  );
  for (const { order, status } of all) {
    checker.expect(
      'a callback ends: the receiver has it, or its end says why not',
      status === 'failed' || (status === 'delivered' && received.has(order.id)),
      order.task,
      () => `${order.id} is ${status}`,
    );
    for (const sent of received.get(order.id) ?? [])
      checker.expect(
        'a receiver gets exactly what was stored',
        canonicalJson(sent) === canonicalJson(order.held),
        order.task,
        () => JSON.stringify({ sent, order }),
      );
  }
  for (const id of held) {
    const task = taskIn(books, id);
    if (task === undefined || HeldInputs.safeParse(task.inputs).data?.callback === undefined) continue;
    const ends = all
      .filter(({ order }) => order.task === id && isFinal(order.held.state))
      .map(({ order }) => order.held.state);
    checker.expect(
      'a held effect with a callback is called back about its end',
      ends.some((state) => STATE_OF_PHASE[task.phase]?.includes(state)),
      id,
      () => `${task.phase}: ${ends.join(' ')}`,
    );
  }
};
