import type { Pool, PoolClient } from 'pg';
import type {
  Locked,
  OutboxRow,
  Store,
  StoredEvent,
  TimerRow,
  Transaction,
  WireMessage,
} from '../engine/ports.ts';
import type { CommitGuard } from './commit-guard.ts';
import { classify } from './errors.ts';
import { createServerClock } from './transaction/server-clock.ts';
import { type Statement, type Statements, statements as plainStatements } from './statements.ts';
import {
  type Connection,
  connectionOf,
  createConnection,
  createPart,
  Millis,
} from './transaction/transaction.ts';

type LockRow = {
  readonly locked: Readonly<Record<string, readonly [version: number, kind: string]>>;
  readonly now: string;
  readonly purged: string;
};
type DueRow = {
  readonly aggregate: string;
  readonly name: string;
  readonly due_at: string;
  readonly data: unknown;
  readonly trace: string | null;
};
type StoredOutboxRow = {
  readonly id: string;
  readonly messages: readonly (Omit<WireMessage, 'body'> & { readonly body: unknown })[];
  readonly events: readonly (Omit<StoredEvent, 'body' | 'trace'> & {
    readonly data: unknown;
    readonly trace: string | null;
  })[];
};

export type StoreOptions = {
  /** A batch commits only when every guard allows it. */
  readonly guards?: readonly CommitGuard[];
  /** Left out: those of a pool whose connections search the schema of the service alone. */
  readonly statements?: Statements;
};

/** The schema of a service in PostgreSQL. Stores of several services on one pool can share their transactions. */
export const createPostgresStore = (
  pool: Pool,
  { guards = [], statements = plainStatements }: StoreOptions = {},
): Store => {
  /** The connections, each with the digests of shared content that it has committed. */
  const known = new WeakMap<PoolClient, Set<string>>();
  const clock = createServerClock();
  let purged: string | undefined;

  const partOf = async (
    connection: Connection,
    isFirst: boolean,
    { name, text }: Statement,
    parameters: readonly unknown[],
  ): Promise<Transaction> => {
    const { client } = connection;
    const anew = !known.has(client);
    const shared = known.get(client) ?? new Set<string>();
    known.set(client, shared);
    const { rows } = await clock.timed((): Promise<{ rows: LockRow[] }> =>
      connection.ask(() => client.query<LockRow>({ name, text, values: [...parameters] })),
    );
    const [row] = rows;
    const cacheInvalid = anew || row?.purged !== purged;
    purged = row?.purged;
    const locked = Object.entries(row?.locked ?? {}).map(
      ([id, [version, kind]]) => [id, { kind, version }] as const,
    );
    const now = Millis.parse(row?.now);
    const part = createPart({ connection, isFirst, now, locked, clock, statements, guards, shared });
    return { ...part, cacheInvalid };
  };

  const open = async (lock: Statement, parameters: readonly unknown[]): Promise<Transaction> => {
    const connection = createConnection(await pool.connect());
    try {
      return await partOf(connection, true, lock, parameters);
    } catch (error) {
      await connection.abandon(error);
      throw classify(error);
    }
  };

  const join = async (aggregates: readonly string[], within: Transaction): Promise<Transaction> => {
    try {
      return await partOf(connectionOf(within), false, statements.lock, [aggregates]);
    } catch (error) {
      throw classify(error);
    }
  };

  /** A connection that is new may lead to another server or to a restored one. */
  const assume = async (
    aggregates: ReadonlyMap<string, Locked | undefined>,
    within: Transaction | undefined,
  ): Promise<Transaction | undefined> => {
    const connection = within ? connectionOf(within) : createConnection(await pool.connect());
    const shared = known.get(connection.client);
    const now = clock.now();
    if (shared === undefined || now === undefined || purged === undefined) {
      if (within === undefined) connection.close(false);
      return undefined;
    }
    const locked = [...aggregates].flatMap(([id, head]) => (head === undefined ? [] : [[id, head] as const]));
    const assumed = { aggregates, purged };
    const isFirst = within === undefined;
    return createPart({ connection, isFirst, now, locked, assumed, clock, statements, guards, shared });
  };

  return {
    lock: (aggregates, within) =>
      within === undefined ? open(statements.lock, [aggregates]) : join(aggregates, within),
    assume,
    nextDue: async () => (await pool.query<{ left: number }>(statements.nextDue)).rows[0]?.left ?? Infinity,
    lockDue: async (limit) => {
      const transaction = await open(statements.lockDue, [limit]);
      if (transaction.locked.size === 0) return { transaction, due: [] };
      const { client } = connectionOf(transaction);
      try {
        const { rows } = await client.query<DueRow>({
          ...statements.due,
          values: [[...transaction.locked.keys()]],
        });
        return { transaction, due: rows.map(timerOf) };
      } catch (error) {
        await transaction.rollback();
        throw classify(error);
      }
    },
    claimOutbox: async (olderThanMs, claimMs, limit) => {
      const { rows } = await pool.query<StoredOutboxRow>({
        ...statements.claimOutbox,
        values: [olderThanMs, claimMs, limit],
      });
      return rows.map(outboxRowOf);
    },
    confirmOutbox: async (ids) => {
      if (ids.length > 0) await pool.query({ ...statements.confirmOutbox, values: [ids] });
    },
  };
};

const timerOf = ({ aggregate, name, due_at, data, trace }: DueRow): TimerRow => ({
  aggregate,
  name,
  dueAt: Millis.parse(due_at),
  data: data as TimerRow['data'],
  trace: trace ?? undefined,
});

const outboxRowOf = ({ id, messages, events }: StoredOutboxRow): OutboxRow => ({
  id,
  messages: messages.map((message) => ({ ...message, body: JSON.stringify(message.body) })),
  events: events.map(({ data, trace, ...event }) => ({
    ...event,
    trace: trace ?? undefined,
    body: JSON.stringify(data),
  })),
});
