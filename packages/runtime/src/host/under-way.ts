import type { Member } from './member.ts';

/** The aggregates that one transaction holds until it has ended. No other transaction of the host decides on them. */
export type Hold = {
  readonly add: (member: Member, aggregates: Iterable<string>) => void;
  /** No other transaction holds it. */
  readonly isFree: (member: Member, aggregate: string) => boolean;
  readonly release: () => void;
};

/** Passes the turn on, once. */
export type Turn = () => void;

/**
 * The transactions of a host that are under way: one locks and decides, while the others commit. A transaction that waits for the
 * locks of another one waits for its commit alone, so two never wait for each other.
 */
export const createUnderWay = (max: number) => {
  const running = new Set<Promise<void>>();
  const held = new Map<Member, Map<string, Hold>>();
  let last: Promise<void> = Promise.resolve();

  const one = (): Promise<void> => Promise.race(running);

  return {
    hold: (): Hold => {
      const own: (readonly [Map<string, Hold>, string])[] = [];
      const hold: Hold = {
        add: (member, aggregates) => {
          const taken = held.get(member) ?? new Map<string, Hold>();
          held.set(member, taken);
          for (const aggregate of aggregates) {
            if (taken.has(aggregate)) continue;
            taken.set(aggregate, hold);
            own.push([taken, aggregate]);
          }
        },
        isFree: (member, aggregate) => (held.get(member)?.get(aggregate) ?? hold) === hold,
        release: () => {
          for (const [taken, aggregate] of own.splice(0)) taken.delete(aggregate);
        },
      };
      return hold;
    },
    /** Resolves when a transaction may decide. */
    turn: async (): Promise<Turn> => {
      const before = last;
      const { promise, resolve } = Promise.withResolvers<void>();
      last = promise;
      await before;
      return resolve;
    },
    /** Adds a transaction, and resolves when another one may begin beside it. */
    add: async (transaction: Promise<void>): Promise<void> => {
      const ending = transaction.finally(() => running.delete(ending));
      running.add(ending);
      while (running.size >= max) await one();
    },
    count: (): number => running.size,
    /** Resolves when one of those under way has ended. */
    one,
    all: async (): Promise<void> => void (await Promise.all(running)),
  };
};

export type UnderWay = ReturnType<typeof createUnderWay>;
