import type { Pool, PoolClient } from 'pg';
import { z } from 'zod';
import {
  CommitUnknown,
  Conflict,
  type BatchWrite,
  type History,
  type OutboxRow,
  type Store,
  type StoredEvent,
  type TimerRow,
  type Transaction,
  type WireMessage,
} from '../engine/ports.ts';
import type { CommitGuard } from './commit-guard.ts';
import { deadLettersJson, sharedJson, writeParts } from './encode.ts';
import { classify, isSqlState } from './errors.ts';
import { corked, pipelined } from './pipelined.ts';
import { completeEvents } from './shared-content.ts';
import { type Statement, type Statements, statements as ownStatements } from './statements.ts';

type LockRow = {
  readonly locked: Readonly<Record<string, readonly [version: number, kind: string]>>;
  readonly now: string;
  readonly purged: string;
};
type HistoryRow = {
  readonly id: string;
  readonly snapshot_version: number | null;
  readonly snapshot_state: unknown;
  readonly events: readonly unknown[];
  readonly since: string | null;
  readonly at: string | null;
  readonly trace: string | null;
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

const Millis = z.coerce.number().int();

export type StoreOptions = {
  /** A batch commits only when every guard allows it. */
  readonly guards?: readonly CommitGuard[];
  /** Left out: those of a pool whose connections search the schema of the service alone. */
  readonly statements?: Statements;
};

/** The schema of a service in PostgreSQL. Stores of several services on one pool can share their transactions. */
export const createPostgresStore = (
  pool: Pool,
  { guards = [], statements = ownStatements }: StoreOptions = {},
): Store => {
  /** The connections, each with the digests of shared content that it has committed. */
  const known = new WeakMap<PoolClient, Set<string>>();
  let purged: string | undefined;

  const partOf = (connection: Connection, isFirst: boolean, lock: () => Promise<LockRow | undefined>) => {
    const { client } = connection;
    const anew = !known.has(client);
    const shared = known.get(client) ?? new Set<string>();
    known.set(client, shared);
    return lock().then((row): Transaction => {
      const cacheInvalid = anew || row?.purged !== purged;
      purged = row?.purged;
      const part = createPart({ connection, isFirst, row, statements, guards, shared });
      return { ...part, cacheInvalid };
    });
  };

  const open = async (lock: Statement, parameters: readonly unknown[]): Promise<Transaction> => {
    const connection = createConnection(await pool.connect());
    const { client } = connection;
    try {
      return await partOf(connection, true, async () => {
        const [, locked] = await pipelined(client, () => [
          client.query('BEGIN'),
          client.query<LockRow>({ ...lock, values: [...parameters] }),
        ]);
        return locked.rows[0];
      });
    } catch (error) {
      await connection.abandon(error);
      throw classify(error);
    }
  };

  const join = async (aggregates: readonly string[], within: Transaction): Promise<Transaction> => {
    const connection = connectionOf(within);
    const { client } = connection;
    try {
      return await partOf(connection, false, async () => {
        const { rows } = await client.query<LockRow>({ ...statements.lock, values: [aggregates] });
        return rows[0];
      });
    } catch (error) {
      throw classify(error);
    }
  };

  return {
    lock: (aggregates, within) =>
      within === undefined ? open(statements.lock, [aggregates]) : join(aggregates, within),
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

const historyOf = (row: HistoryRow, events: readonly unknown[]): History => ({
  snapshot:
    row.snapshot_version === null ? undefined : { version: row.snapshot_version, state: row.snapshot_state },
  events,
  times:
    row.since === null || row.at === null
      ? undefined
      : { since: Millis.parse(row.since), at: Millis.parse(row.at), trace: row.trace ?? undefined },
});

/**
 * One transaction on one connection. After an error that did not come from the server the connection is
 * discarded.
 */
const createConnection = (client: PoolClient) => {
  let open = true;
  const ended = Promise.withResolvers<void>();
  // A part that fails does not wait for the end of the transaction.
  ended.promise.catch(() => undefined);
  const close = (broken: boolean): void => {
    if (open) client.release(broken);
    open = false;
  };

  const rollback = async (): Promise<void> => {
    if (!open) return;
    await client.query('ROLLBACK').then(
      () => close(false),
      () => close(true),
    );
  };

  return {
    client,
    close,
    rollback,
    abandon: async (error: unknown): Promise<void> => (isSqlState(error) ? rollback() : close(true)),
    /** Sends the commit, behind all writes. */
    end: (): void => {
      client.query('COMMIT').then(
        ({ command }) => {
          close(false);
          // The server answers COMMIT of a failed transaction with ROLLBACK, as a success.
          if (command === 'COMMIT') ended.resolve();
          else ended.reject(new Conflict('the transaction was rolled back'));
        },
        (cause: unknown) => {
          close(true);
          ended.reject(new CommitUnknown('no answer to COMMIT', { cause }));
        },
      );
    },
    /** Resolves once the transaction is committed. Throws `Conflict` or `CommitUnknown`. */
    ended: ended.promise,
  };
};
type Connection = ReturnType<typeof createConnection>;
const connectionOf = ({ unit }: Transaction): Connection => unit as Connection;

type PartOptions = {
  readonly connection: Connection;
  /** The part that ends the transaction for all. */
  readonly isFirst: boolean;
  readonly row: LockRow | undefined;
  readonly statements: Statements;
  readonly guards: readonly CommitGuard[];
  /** The digests of shared content that this connection has committed. */
  readonly shared: Set<string>;
};

const NOTHING_ASKED = Promise.resolve({ rows: [] });

/** The part of a service in a transaction. */
const createPart = ({ connection, isFirst, row, statements, guards, shared }: PartOptions): Transaction => {
  const { client } = connection;

  /** The error to throw for a failed statement of the batch. The server rolls back when it reads the commit. */
  const errorOf = (reason: unknown): unknown => {
    if (!isSqlState(reason)) {
      connection.close(true);
      return new CommitUnknown('connection lost', { cause: reason });
    }
    const guard = guards.find((each) => each.isRefusal(reason));
    if (guard === undefined) return classify(reason);
    return (
      guard.refusal?.(reason) ?? new Conflict('the condition of the batch does not hold', { cause: reason })
    );
  };

  const commit = async (batch: BatchWrite): Promise<string | undefined> => {
    const { deadLetters } = batch;
    const contents = (batch.shared ?? []).filter(({ digest }) => !shared.has(digest));
    const checks = guards.flatMap((guard) => {
      const statement = guard.statement(batch);
      return statement === undefined ? [] : [{ guard, statement }];
    });
    const parts = writeParts(batch);
    const { written, checked, queries } = corked(client, () => {
      const sharing =
        contents.length === 0
          ? NOTHING_ASKED
          : client.query({ ...statements.share, values: [sharedJson(contents)] });
      const writing: Promise<{ readonly rows: readonly { readonly id: string }[] }> =
        parts.length === 0
          ? NOTHING_ASKED
          : client.query({
              ...statements.write(parts.map(({ part }) => part)),
              values: parts.flatMap(({ values }) => values),
            });
      const keeping =
        deadLetters === undefined
          ? NOTHING_ASKED
          : client.query({ ...statements.deadLetters, values: [deadLettersJson(deadLetters)] });
      const checking = checks.map(({ statement }) =>
        client.query({ ...statement, values: [...statement.values] }),
      );
      if (isFirst) connection.end();
      return { written: writing, checked: checking, queries: [sharing, writing, keeping, ...checking] };
    });
    for (const result of await Promise.allSettled(queries))
      if (result.status === 'rejected') throw errorOf(result.reason);
    await connection.ended;
    for (const { digest } of contents) shared.add(digest);
    for (const [index, { guard }] of checks.entries()) guard.passed((await checked[index])?.rows ?? []);
    return (await written).rows[0]?.id;
  };

  return {
    unit: connection,
    now: Millis.parse(row?.now),
    locked: new Map(
      Object.entries(row?.locked ?? {}).map(([id, [version, kind]]) => [id, { kind, version }]),
    ),
    load: async (aggregates) => {
      const { rows } = await client.query<HistoryRow>({ ...statements.history, values: [aggregates] });
      const histories = new Map<string, History>();
      for (const each of rows)
        histories.set(each.id, historyOf(each, await completeEvents(client, each.events, statements)));
      return histories;
    },
    commit,
    rollback: connection.rollback,
  };
};
