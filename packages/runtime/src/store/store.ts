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
import { deadLettersJson, sharedJson, writeParameters } from './encode.ts';
import { classify, isSqlState } from './errors.ts';
import { pipelined, pipelinedSettled } from './pipelined.ts';
import { completeEvents } from './shared-content.ts';
import { type Statement, statements } from './statements.ts';

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

/** PostgreSQL as the store of record. A batch commits only when the guard, if any, allows it. */
export const createPostgresStore = (pool: Pool, condition?: CommitGuard): Store => {
  /** The connections, each with the digests of shared content that it has committed. */
  const known = new WeakMap<PoolClient, Set<string>>();
  let purged: string | undefined;

  const open = async (lock: Statement, parameters: readonly unknown[]): Promise<Session> => {
    const client = await pool.connect();
    const first = !known.has(client);
    const shared = known.get(client) ?? new Set();
    known.set(client, shared);
    const session = createSession(client, shared, condition);
    try {
      const [, locked] = await pipelined(client, () => [
        client.query('BEGIN'),
        client.query<LockRow>({ ...lock, values: [...parameters] }),
      ]);
      const row = locked.rows[0];
      const anew = first || row?.purged !== purged;
      purged = row?.purged;
      return { ...session, transaction: { ...session.begin(row), cacheInvalid: anew } };
    } catch (error) {
      await session.abandon(error);
      throw classify(error);
    }
  };

  return {
    lock: async (aggregates) => (await open(statements.lock, [aggregates])).transaction,
    lockDue: async (limit) => {
      const { transaction, client } = await open(statements.lockDue, [limit]);
      if (transaction.locked.size === 0) return { transaction, due: [] };
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

type Session = { readonly transaction: Transaction; readonly client: PoolClient };

const NOTHING_ASKED = Promise.resolve({ rows: [] });

/**
 * One transaction on one connection. After an error that did not come from the server the connection is
 * discarded.
 */
const createSession = (client: PoolClient, shared: Set<string>, condition: CommitGuard | undefined) => {
  let open = true;
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

  const abandon = async (error: unknown): Promise<void> => (isSqlState(error) ? rollback() : close(true));

  /** The error to throw for a failed statement of the batch. */
  const failed = async (reason: unknown): Promise<unknown> => {
    await abandon(reason);
    if (!isSqlState(reason)) return new CommitUnknown('connection lost', { cause: reason });
    return condition?.isRefusal(reason) === true
      ? new Conflict('the condition of the batch does not hold', { cause: reason })
      : classify(reason);
  };

  const commit = async (batch: BatchWrite): Promise<string | undefined> => {
    const check = condition?.statement(batch);
    const { deadLetters } = batch;
    const contents = (batch.shared ?? []).filter(({ digest }) => !shared.has(digest));
    const [stored, written, kept, checked, committed] = await pipelinedSettled(client, () => [
      contents.length === 0
        ? NOTHING_ASKED
        : client.query({ ...statements.share, values: [sharedJson(contents)] }),
      client.query<{ id: string }>({ ...statements.write, values: [...writeParameters(batch)] }),
      deadLetters === undefined
        ? NOTHING_ASKED
        : client.query({ ...statements.deadLetters, values: [deadLettersJson(deadLetters)] }),
      check === undefined ? NOTHING_ASKED : client.query({ ...check, values: [...check.values] }),
      client.query('COMMIT'),
    ]);
    if (stored.status === 'rejected') throw await failed(stored.reason);
    if (written.status === 'rejected') throw await failed(written.reason);
    if (kept.status === 'rejected') throw await failed(kept.reason);
    if (checked.status === 'rejected') throw await failed(checked.reason);
    if (committed.status === 'rejected') {
      close(true);
      throw new CommitUnknown('no answer to COMMIT', { cause: committed.reason });
    }
    close(false);
    // The server answers COMMIT of a failed transaction with ROLLBACK, as a success.
    if (committed.value.command !== 'COMMIT') throw new Conflict('the transaction was rolled back');
    for (const { digest } of contents) shared.add(digest);
    if (check !== undefined) condition?.passed(checked.value.rows);
    return written.value.rows[0]?.id;
  };

  return {
    client,
    abandon,
    begin: (locked: LockRow | undefined): Transaction => ({
      now: Millis.parse(locked?.now),
      locked: new Map(
        Object.entries(locked?.locked ?? {}).map(([id, [version, kind]]) => [id, { kind, version }]),
      ),
      load: async (aggregates) => {
        const { rows } = await client.query<HistoryRow>({ ...statements.history, values: [aggregates] });
        const histories = new Map<string, History>();
        for (const row of rows)
          histories.set(row.id, historyOf(row, await completeEvents(client, row.events)));
        return histories;
      },
      commit,
      rollback,
    }),
  };
};
