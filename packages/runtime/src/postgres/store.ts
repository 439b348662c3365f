import type { Pool, PoolClient } from 'pg';
import { z } from 'zod';
import {
  CommitUnknown,
  Conflict,
  type BatchWrite,
  type History,
  type ProjectionRow,
  type Store,
  type TimerRow,
  type Transaction,
  type WireMessage,
} from '../ports.ts';
import { writeParameters } from './encode.ts';
import { classify, isSqlState } from './errors.ts';
import { type Statement, statements } from './statements.ts';

/** Writes the read model's rows, as one statement. Its parameter is the JSON array of the rows. */
export type ProjectionStatement = Statement;

type HeadRow = { readonly id: string; readonly version: number };
type HistoryRow = {
  readonly id: string;
  readonly snapshot_version: number | null;
  readonly snapshot_state: unknown;
  readonly events: readonly unknown[];
};
type DueRow = {
  readonly aggregate: string;
  readonly name: string;
  readonly due_at: string;
  readonly data: unknown;
  readonly trace: string | null;
};
type StoredMessage = Omit<WireMessage, 'body'> & { readonly body: unknown };

const Millis = z.coerce.number().int();

/** PostgreSQL as the store of record. */
export const createPostgresStore = (pool: Pool, projection?: ProjectionStatement): Store => {
  const open = async (lock: Statement, parameters: readonly unknown[]): Promise<Session> => {
    const client = await pool.connect();
    const session = createSession(client, projection);
    try {
      // One flight: the clock's statement runs once the locks of the one before are held.
      const [, heads, clock] = await Promise.all([
        client.query('BEGIN'),
        client.query<HeadRow>({ ...lock, values: [...parameters] }),
        client.query<{ now: string }>(statements.clock),
      ]);
      return { ...session, transaction: session.begin(heads.rows, Millis.parse(clock.rows[0]?.now)) };
    } catch (error) {
      await session.abandon(error);
      throw classify(error);
    }
  };

  return {
    lock: async (aggregates) => (await open(statements.lock, [aggregates])).transaction,
    lockDue: async (limit) => {
      const { transaction, client } = await open(statements.lockDue, [limit]);
      try {
        const { rows } = await client.query<DueRow>({ ...statements.due, values: [[...transaction.versions.keys()]] });
        return { transaction, due: rows.map(timerOf) };
      } catch (error) {
        await transaction.rollback();
        throw classify(error);
      }
    },
    claimOutbox: async (olderThanMs, claimMs, limit) => {
      const { rows } = await pool.query<{ id: string; messages: readonly StoredMessage[] }>({
        ...statements.claimOutbox,
        values: [olderThanMs, claimMs, limit],
      });
      return rows.map(({ id, messages }) => ({
        id,
        messages: messages.map((message) => ({ ...message, body: JSON.stringify(message.body) })),
      }));
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

const historyOf = (row: HistoryRow): History => ({
  snapshot: row.snapshot_version === null ? undefined : { version: row.snapshot_version, state: row.snapshot_state },
  events: row.events,
});

type Session = { readonly transaction: Transaction; readonly client: PoolClient };

/** One transaction on one connection. After an error that is not the server's own word the connection is not used again. */
const createSession = (client: PoolClient, projection: ProjectionStatement | undefined) => {
  let open = true;
  const close = (broken: boolean): void => {
    if (open) client.release(broken);
    open = false;
  };

  const abandon = async (error: unknown): Promise<void> => {
    if (!open) return;
    if (!isSqlState(error)) return close(true);
    await client.query('ROLLBACK').then(
      () => close(false),
      () => close(true),
    );
  };

  const commit = async (write: BatchWrite): Promise<string | undefined> => {
    const writes = [
      client.query<{ id: string }>({ ...statements.write, values: [...writeParameters(write)] }),
      ...projected(client, projection, write.projection),
    ] as const;
    const [written, committed] = await Promise.allSettled([Promise.all(writes), client.query('COMMIT')]);
    if (written.status === 'rejected') {
      await abandon(written.reason);
      throw isSqlState(written.reason) ? classify(written.reason) : new CommitUnknown('connection lost', { cause: written.reason });
    }
    if (committed.status === 'rejected') {
      close(true);
      throw new CommitUnknown('no answer to COMMIT', { cause: committed.reason });
    }
    close(false);
    // The server answers COMMIT of a failed transaction with ROLLBACK, as a success.
    if (committed.value.command !== 'COMMIT') throw new Conflict('the transaction was rolled back');
    return written.value[0]?.rows[0]?.id;
  };

  return {
    client,
    abandon,
    begin: (heads: readonly HeadRow[], now: number): Transaction => ({
      now,
      versions: new Map(heads.map(({ id, version }) => [id, version])),
      load: async (aggregates) => {
        const { rows } = await client.query<HistoryRow>({ ...statements.history, values: [aggregates] });
        return new Map(rows.map((row) => [row.id, historyOf(row)]));
      },
      commit,
      rollback: async () => {
        if (!open) return;
        await client.query('ROLLBACK').then(
          () => close(false),
          () => close(true),
        );
      },
    }),
  };
};

const projected = (client: PoolClient, projection: ProjectionStatement | undefined, rows: readonly ProjectionRow[]) =>
  projection === undefined || rows.length === 0
    ? []
    : [client.query<{ id: string }>({ ...projection, values: [JSON.stringify(rows)] })];
