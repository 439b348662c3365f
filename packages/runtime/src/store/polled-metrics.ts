import { DEAD_LETTERS_COUNTED_MAX } from '@holdpoint/contracts/bus/dead-letter';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { AddPolledMetrics } from '../observability/polled-metrics.ts';

/** Tables that change constantly: vacuum has to keep up with them. */
const QUEUES = ['outbox', 'timers', 'heads', 'inbox'];

const AGE = (since: string): string =>
  `greatest(0, extract(epoch FROM clock_timestamp() - ${since}))::float8`;

// The oldest row is the first in its index. Transactions of other users are hidden from a service.
const AGES = `
  SELECT coalesce((SELECT ${AGE('created_at')} FROM outbox ORDER BY id LIMIT 1), 0) AS outbox,
         coalesce((SELECT ${AGE('due_at')} FROM timers ORDER BY due_at LIMIT 1), 0) AS timer,
         coalesce((SELECT max(${AGE('xact_start')}) FROM pg_stat_activity
                    WHERE usename = current_user AND datname = current_database() AND pid <> pg_backend_pid()), 0) AS transaction,
         (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`;
const Ages = z.object({ outbox: z.number(), timer: z.number(), transaction: z.number(), now: z.number() });

const ROWS = `SELECT relname AS "table", n_live_tup::float8 AS live, n_dead_tup::float8 AS dead
  FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname = ANY($1)`;
const Rows = z.array(z.object({ table: z.string(), live: z.number(), dead: z.number() }));

const LETTERS = `
  SELECT (SELECT count(*) FROM (SELECT FROM dead_letters WHERE resolution IS NULL LIMIT $1) d)::float8 AS open,
         coalesce((SELECT max(place) FROM dead_letters), 0)::float8 AS latest`;
const Letters = z.object({ open: z.number(), latest: z.number() });

/** Metrics of the service's own schema. `now`: epoch milliseconds of this machine. */
export const pollStoreMetrics = (pool: Pool, sample: AddPolledMetrics, now: () => number): void => {
  sample(
    {
      outbox_oldest_seconds: {
        help: 'Age of the oldest message that the bus has not confirmed; 0: there is none',
      },
      timer_overdue_seconds: { help: 'How long the timer that is due since longest is overdue; 0: none is' },
      database_transaction_seconds: { help: 'Age of the oldest transaction of this service' },
      clock_offset_seconds: { help: 'How far the clock of this machine is ahead of that of the database' },
    },
    async () => {
      const before = now();
      const { rows } = await pool.query({ name: 'hp_ages', text: AGES });
      const here = (before + now()) / 2;
      const ages = Ages.parse(rows[0]);
      return {
        outbox_oldest_seconds: ages.outbox,
        timer_overdue_seconds: ages.timer,
        database_transaction_seconds: ages.transaction,
        clock_offset_seconds: (here - ages.now) / 1_000,
      };
    },
  );
  sample(
    {
      dead_letters_open: { help: 'Dead letters that no operator has resolved' },
      dead_letters_total: { help: 'Number of the latest dead letter' },
    },
    async () => {
      const { rows } = await pool.query({
        name: 'hp_dead_letters_read',
        text: LETTERS,
        values: [DEAD_LETTERS_COUNTED_MAX],
      });
      const { open, latest } = Letters.parse(rows[0]);
      return { dead_letters_open: open, dead_letters_total: latest };
    },
  );
  sample(
    {
      table_rows: {
        help: 'Rows of the tables that change most, as the server estimates them',
        labels: ['table', 'state'],
      },
    },
    async () => {
      const { rows } = await pool.query({ name: 'hp_rows', text: ROWS, values: [QUEUES] });
      return {
        table_rows: Rows.parse(rows).flatMap(({ table, live, dead }) => [
          { labels: { table, state: 'live' }, value: live },
          { labels: { table, state: 'dead' }, value: dead },
        ]),
      };
    },
  );
};
