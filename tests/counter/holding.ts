import type { Book } from './book.ts';
import type { Incoming } from './memory.ts';

/** Delayed requests: each arrives at its time, also after its sender gave up. */
export const createHolding = (book: Book) => {
  const timers = new Map<number, NodeJS.Timeout>();

  const arrive = async (request: Incoming): Promise<void> => {
    timers.delete(request.n);
    await book.apply(request);
  };

  const plan = (request: Incoming, until: string): void => {
    const delayMs = Math.max(0, Date.parse(until) - Date.now());
    timers.set(
      request.n,
      setTimeout(() => void arrive(request), delayMs),
    );
  };

  const heldRequests = (): readonly { readonly request: Incoming; readonly until: string }[] =>
    [...book.memory.held().values()].flatMap(({ request, until }) =>
      request.digest === null ? [] : [{ request: { ...request, digest: request.digest }, until }],
    );

  for (const { request, until } of heldRequests()) plan(request, until);

  return {
    hold: async (request: Incoming, delayMs: number): Promise<void> => {
      const until = new Date(Date.now() + delayMs).toISOString();
      await book.write({ type: 'held', n: request.n, key: request.key, until });
      plan(request, until);
    },
    /** Lets all delayed requests arrive. */
    releaseAll: async (): Promise<void> => {
      const due = heldRequests().filter(({ request: { n } }) => timers.has(n));
      for (const { request } of due) clearTimeout(timers.get(request.n));
      await Promise.all(due.map(({ request }) => arrive(request)));
    },
    /** Delayed requests stay in the ledger for the next start. */
    stop: (): void => {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
};
export type Holding = ReturnType<typeof createHolding>;
