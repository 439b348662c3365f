import type { PoolClient } from 'pg';
import { z } from 'zod';
import { isEmpty } from '../../engine/batch.ts';
import {
  type BatchWrite,
  CommitUnknown,
  Conflict,
  type History,
  type Locked,
  type Transaction,
} from '../../engine/ports.ts';
import type { CommitGuard } from '../commit-guard.ts';
import { deadLettersJson, sharedJson, writeParts } from '../encode.ts';
import { classify, isSqlState } from '../errors.ts';
import { corked, pipelined } from './pipelined.ts';
import type { ServerClock } from './server-clock.ts';
import { completeEvents } from '../shared-content.ts';
import type { Statement, Statements } from '../statements.ts';

type HistoryRow = {
  readonly id: string;
  readonly snapshot_version: number | null;
  readonly snapshot_state: unknown;
  readonly events: readonly unknown[];
  readonly since: string | null;
  readonly at: string | null;
  readonly trace: string | null;
};

export const Millis = z.coerce.number().int();

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
export const createConnection = (client: PoolClient) => {
  let open = true;
  let begun: Promise<unknown> | undefined;
  const ended = Promise.withResolvers<void>();
  // A part that fails does not wait for the end of the transaction.
  ended.promise.catch(() => undefined);
  const close = (broken: boolean): void => {
    if (open) client.release(broken);
    open = false;
  };

  const rollback = async (): Promise<void> => {
    if (!open) return;
    if (begun === undefined) return close(false);
    await client.query('ROLLBACK').then(
      () => close(false),
      () => close(true),
    );
  };

  /** Sends statements behind BEGIN, which the first of them brings along, as one write. */
  const ask = async <Result>(send: () => Promise<Result>): Promise<Result> => {
    const [, result] = await pipelined(client, () => [(begun ??= client.query('BEGIN')), send()]);
    return result;
  };

  /** Sends the commit, behind all writes. */
  const end = (): void => {
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
  };

  /** The same for the statements of a commit, which the last part ends. */
  const sendAll = <Result>(send: () => Result, isLast: boolean): Result =>
    corked(client, () => {
      // A failure to begin fails every later statement, which report it.
      begun ??= client.query('BEGIN').catch(() => undefined);
      const sent = send();
      if (isLast) end();
      return sent;
    });

  return {
    client,
    close,
    rollback,
    ask,
    sendAll,
    abandon: async (error: unknown): Promise<void> => (isSqlState(error) ? rollback() : close(true)),
    /** Resolves once the transaction is committed. Throws `Conflict` or `CommitUnknown`. */
    ended: ended.promise,
  };
};
export type Connection = ReturnType<typeof createConnection>;
export const connectionOf = ({ unit }: Transaction): Connection => unit as Connection;

type PartOptions = {
  readonly connection: Connection;
  /** The part that ends the transaction for all. */
  readonly isFirst: boolean;
  readonly now: number;
  readonly locked: readonly (readonly [string, Locked])[];
  /** What a part without locks has to compare when it commits. */
  readonly assumed?: {
    readonly aggregates: ReadonlyMap<string, Locked | undefined>;
    readonly purged: string;
  };
  readonly clock: ServerClock;
  readonly statements: Statements;
  readonly guards: readonly CommitGuard[];
  /** The digests of shared content that this connection has committed. */
  readonly shared: Set<string>;
};

const NOTHING_ASKED: Promise<{ readonly rows: readonly { readonly id: string | null }[] }> = Promise.resolve({
  rows: [],
});

/** The part of a service in a transaction. */
export const createPart = (options: PartOptions): Transaction => {
  const { connection, isFirst, now, locked, assumed, clock, statements, guards, shared } = options;
  const { client } = connection;

  /** The error to throw for a failed statement of the batch. The server rolls back when it reads the commit. */
  const errorOf = (reason: unknown, guard?: CommitGuard): unknown => {
    if (!isSqlState(reason)) {
      connection.close(true);
      return new CommitUnknown('connection lost', { cause: reason });
    }
    if (guard?.isRefusal(reason) !== true) return classify(reason);
    return (
      guard.refusal?.(reason) ?? new Conflict('the condition of the batch does not hold', { cause: reason })
    );
  };

  const query = <Row extends object>(statement: Statement, values: readonly unknown[]) =>
    client.query<Row>({ ...statement, values: [...values] });

  /** Compares the versions of the aggregates that the write leaves as they are. */
  const compare = ({ events }: BatchWrite): Promise<unknown>[] => {
    if (assumed === undefined) return [];
    const changed = new Set(events.map(({ aggregate }) => aggregate));
    const others = [...assumed.aggregates].filter(([id]) => !changed.has(id));
    if (others.length === 0) return [];
    const present = others.flatMap(([id, head]) =>
      head === undefined ? [] : [{ id, version: head.version }],
    );
    const absent = others.flatMap(([id, head]) => (head === undefined ? [id] : []));
    return [
      clock.timed(() =>
        query(statements.compare, [
          present.map(({ id }) => id),
          present.map(({ version }) => version),
          absent,
          assumed.purged,
        ]),
      ),
    ];
  };

  /** The statements of a write, in their order: an error ends the transaction, and all later ones. */
  const send = (batch: BatchWrite) => {
    const { deadLetters } = batch;
    const contents = (batch.shared ?? []).filter(({ digest }) => !shared.has(digest));
    const isNothing = assumed !== undefined && isEmpty(batch);
    const parts = isNothing ? [] : writeParts(batch, assumed?.purged);
    const before = [
      ...compare(batch),
      ...(contents.length > 0 ? [query(statements.share, [sharedJson(contents)])] : []),
    ];
    const written =
      parts.length === 0
        ? NOTHING_ASKED
        : clock.timed(() =>
            query<{ id: string | null }>(
              statements.write(parts.map(({ part }) => part)),
              parts.flatMap(({ values }) => values),
            ),
          );
    const kept =
      deadLetters === undefined ? [] : [query(statements.deadLetters, [deadLettersJson(deadLetters)])];
    const checked = (isNothing ? [] : guards).flatMap((guard) => {
      const statement = guard.statement(batch);
      return statement === undefined ? [] : [{ guard, rows: query(statement, statement.values) }];
    });
    return { contents, before, written, kept, checked };
  };

  const commit = async (batch: BatchWrite): Promise<string | undefined> => {
    const { contents, before, written, kept, checked } = connection.sendAll(() => send(batch), isFirst);
    const [own, guarding] = await Promise.all([
      Promise.allSettled([...before, written, ...kept]),
      Promise.allSettled(checked.map(({ rows }) => rows)),
    ]);
    for (const result of own) if (result.status === 'rejected') throw errorOf(result.reason);
    for (const [index, result] of guarding.entries())
      if (result.status === 'rejected') throw errorOf(result.reason, checked[index]?.guard);
    await connection.ended;
    for (const { digest } of contents) shared.add(digest);
    for (const { guard, rows } of checked) guard.passed((await rows).rows);
    return (await written).rows[0]?.id ?? undefined;
  };

  return {
    unit: connection,
    now,
    locked: new Map(locked),
    ...(assumed !== undefined && { isAssumed: true as const }),
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
