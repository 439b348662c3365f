import type { Bug } from './bug.ts';
import { enginePostgres, retention, store } from './tests.ts';

const STORE = 'packages/runtime/src/store/store.ts';
const STATEMENTS = 'packages/runtime/src/store/statements.ts';

export const STORE_BUGS: readonly Bug[] = [
  {
    name: 'what belongs to a task goes although the task has not ended',
    file: 'packages/runtime/src/store/retention.ts',
    find: `     AND (t.finished_at IS NULL OR t.finished_at >= due`,
    replace: `     AND (t.finished_at >= due`,
    caughtBy: [retention('its effect and its approval stay as long as it may still order them')],
  },
  {
    name: 'what has ended goes although its facts wait to be published',
    file: 'packages/runtime/src/store/retention.ts',
    find: `(SELECT created_at FROM outbox ORDER BY id LIMIT 1)`,
    replace: `(SELECT max(created_at) FROM outbox WHERE false)`,
    caughtBy: [
      retention(
        'nothing goes that changed after the oldest message that waits: the outbox points at its events',
      ),
    ],
  },
  {
    name: 'a timer is deleted as it is read, outside of the transaction',
    file: STORE,
    find: `        return { transaction, due: rows.map(timerOf) };`,
    replace: `        const gone = 'DELETE FROM timers WHERE aggregate = ANY($1::text[]) AND due_at <= now()';
        await pool.query(gone, [[...transaction.versions.keys()]]);
        return { transaction, due: rows.map(timerOf) };`,
    caughtBy: [store('come back until a decision clears them: looking for them takes none away')],
  },
  {
    name: 'an outbox row is deleted by whoever claims it',
    file: STATEMENTS,
    find: `\`UPDATE outbox SET claimed_until = now() + $2 * interval '1 millisecond'
      WHERE id IN`,
    replace: `\`WITH claimed AS (SELECT $2::int) DELETE FROM outbox
      WHERE id IN`,
    caughtBy: [store('is claimed by one of two replicas, and again when the claim is over')],
  },
  {
    name: 'an outbox row is deleted as it is written',
    file: STORE,
    find: `    return written.value.rows[0]?.id;`,
    replace: `    const row = written.value.rows[0]?.id;
    if (row !== undefined) await client.query('DELETE FROM outbox WHERE id = $1', [row]).catch(() => undefined);
    return row;`,
    caughtBy: [
      enginePostgres(
        'stays in the outbox, is published again with the same ids, and is removed once confirmed',
      ),
    ],
  },
  {
    name: 'a cursor over the outbox',
    file: STORE,
    find: `      return rows.map(outboxRowOf);`,
    replace: `      const reader = pool as Pool & { cursor?: number };
      const fresh = rows.filter(({ id }) => Number(id) > (reader.cursor ?? 0));
      reader.cursor = Math.max(reader.cursor ?? 0, ...fresh.map(({ id }) => Number(id)));
      return fresh.map(outboxRowOf);`,
    caughtBy: [store('gives out again what was not confirmed, though it has given out younger rows since')],
  },
  {
    name: 'two sweepers claim the same outbox row',
    file: STATEMENTS,
    find: `ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)`,
    replace: `ORDER BY id LIMIT $3)`,
    caughtBy: [
      enginePostgres('is claimed by one of two sweepers, though the other looks before that is committed'),
    ],
  },
  {
    name: 'the lock is skipped',
    file: STATEMENTS,
    find: `WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE)`,
    replace: `WHERE id = ANY($1::text[]) ORDER BY id)`,
    caughtBy: [store('for one at a time, and the next one sees what the one before has committed')],
  },
  {
    name: 'due timers are read without a lock',
    file: STATEMENTS,
    find: `
        FOR UPDATE SKIP LOCKED)`,
    replace: `)`,
    caughtBy: [store('are fired by one of two replicas')],
  },
  {
    name: 'due timers are not looked at again behind the lock',
    file: STATEMENTS,
    find: `WHERE aggregate = ANY($1::text[]) AND due_at <= clock_timestamp() ORDER BY`,
    replace: `WHERE aggregate = ANY($1::text[]) ORDER BY`,
    caughtBy: [store('come back when they are due, earliest first, with their data')],
  },
  {
    name: 'the clock is read before the wait for the lock',
    file: STATEMENTS,
    find: `const CLOCK = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint::text';`,
    replace: `const CLOCK = '(extract(epoch FROM now()) * 1000)::bigint::text';`,
    caughtBy: [store('whoever has waited for a lock sees a clock after the wait')],
  },
  {
    name: 'a snapshot keeps its version while its state goes on',
    file: STATEMENTS,
    find: `SET version = excluded.version, state = excluded.state),`,
    replace: `SET state = excluded.state),`,
    caughtBy: [store('with a snapshot has the events after it')],
  },
  {
    name: 'a version that exists is passed over in silence',
    file: STATEMENTS,
    find: `AS e(aggregate text, version int, type text, at bigint, trace text, data json)),`,
    replace: `AS e(aggregate text, version int, type text, at bigint, trace text, data json)
        ON CONFLICT DO NOTHING),`,
    caughtBy: [store('of a version that exists is a conflict, and leaves nothing')],
  },
  {
    name: 'a lost answer to COMMIT is taken for a no',
    file: STORE,
    find: `      throw new CommitUnknown('no answer to COMMIT', { cause: committed.reason });`,
    replace: `      throw committed.reason;`,
    caughtBy: [
      enginePostgres('is unknown, and stands'),
      enginePostgres('%s, is decided again, and nothing is there twice'),
    ],
  },
  {
    name: 'what a later batch confirms is removed though that batch does not commit',
    file: STORE,
    find: `    const check = condition?.statement(batch);`,
    replace: `    await pool.query({ ...statements.confirmOutbox, values: [batch.outboxConfirmed] });
    const check = condition?.statement(batch);`,
    caughtBy: [store('loses what a later batch confirms, if that batch commits')],
  },
];
