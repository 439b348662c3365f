import { Fenced, type Store, type Transaction } from '../engine/ports.ts';
import { CALM_MS, LEASE_MAX_MS, LEASE_MS, type LeaseStore } from '../ownership/lease.ts';

type Row = {
  readonly owner: string | undefined;
  readonly epoch: number;
  readonly until: number;
  readonly lastsMs?: number;
  /** When a lease last ran out. */
  readonly ranOut?: number;
};

/** The lease of one service in memory. `clock` stands for the database's clock. */
export const createMemoryLeases = (clock: () => number) => {
  let row: Row = { owner: undefined, epoch: 0, until: -Infinity };
  const ended = new Set<string>();

  const lasts = (): number => row.lastsMs ?? LEASE_MS;

  const take = (owner: string): Row => {
    const { ranOut = -Infinity } = row;
    const runsOut = row.owner !== undefined && row.until <= clock() && !ended.has(row.owner);
    const longer = runsOut ? Math.min(lasts() * 2, LEASE_MAX_MS) : lasts();
    const lastsMs = ranOut < clock() - CALM_MS ? LEASE_MS : longer;
    const epoch = row.epoch + Number(row.owner !== owner);
    return { owner, epoch, until: clock() + lastsMs, lastsMs, ranOut: runsOut ? clock() : ranOut };
  };

  const isFree = (owner: string): boolean =>
    row.owner === undefined ||
    row.owner === owner ||
    row.until <= clock() ||
    row.until > clock() + lasts() * 2 ||
    ended.has(row.owner);

  return {
    of: (owner: string): LeaseStore => ({
      look: () => {
        const isMine = isFree(owner);
        if (isMine) row = take(owner);
        return Promise.resolve({
          isMine,
          epoch: row.epoch,
          lastsMs: lasts(),
          leftMs: isMine ? 0 : Math.max(0, row.until - clock()),
        });
      },
      release: () => {
        if (row.owner === owner) row = { ...row, owner: undefined, until: -Infinity };
        return Promise.resolve();
      },
    }),
    /** The server has noticed the end of a process. */
    ended: (owner: string): void => void ended.add(owner),
    /** The lease runs out now. */
    runOut: (): void => {
      row = { ...row, until: clock() };
    },
    row: (): Row => row,
    /** As after the restore of a backup. */
    restore: (earlier: Row): void => {
      row = earlier;
    },
    holds: (owner: string, epoch: number | undefined): boolean => row.owner === owner && row.epoch === epoch,
  };
};

export type MemoryLeases = ReturnType<typeof createMemoryLeases>;

/** A store whose commits pass only while `holds` is true. */
export const fencedStore = (store: Store, holds: () => boolean): Store => {
  const fenced = (transaction: Transaction): Transaction => ({
    ...transaction,
    commit: async (write) => {
      if (holds()) return transaction.commit(write);
      await transaction.rollback();
      throw new Fenced('another process owns the service');
    },
  });
  return {
    ...store,
    lock: async (...asked) => fenced(await store.lock(...asked)),
    assume: async (...asked) => {
      const transaction = await store.assume(...asked);
      return transaction && fenced(transaction);
    },
    lockDue: async (limit) => {
      const { transaction, due } = await store.lockDue(limit);
      return { transaction: fenced(transaction), due };
    },
  };
};
