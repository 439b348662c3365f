import type { Client } from '@holdpoint/cli/bus/client';
import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import { type AdminConnection, withAdmin } from '@holdpoint/infra/postgres/admin';
import { type Percentiles, percentiles, round } from './report/percentiles.ts';

const BATCH = 100;
const DAY = 86_400_000;

/**
 * Adds failures of all classes over the last 400 days by SQL through the counting trigger, a hundred per
 * statement. Returns the seconds.
 */
export const loadFailures = (admin: AdminConnection, run: string, count: number): Promise<number> =>
  withAdmin(admin, async (client) => {
    const began = performance.now();
    await client.query('SET search_path = recovery; SET statement_timeout = 0');
    await client.query(
      `DO $do$ BEGIN
         FOR place IN 0 .. ${String(count - 1)} BY ${String(BATCH)} LOOP
           INSERT INTO event_runs (aggregate, first, at, events)
           SELECT 't-${run}-' || i, 1, to_timestamp(ms / 1000.0),
                  json_build_array(json_build_object('type', 'assessed', 'task', 't-${run}-' || i, 'node', 'build', 'attempt', 1, 'at', ms,
                    'output', repeat('a line that was printed ', 20),
                    'verdict', json_build_object('kind', 'retry', 'class', (ARRAY['BROKEN_BUILD','VERIFICATION_FAILED',
                      'CIRCULAR_FIX','CONTEXT_EXHAUSTED','TRANSIENT','WORKER_CRASH','EFFECT_IN_DOUBT','UNKNOWN'])[1 + i % 8])))
             FROM (SELECT i, (extract(epoch FROM now()) * 1000)::bigint - i::bigint * ${String(399 * DAY)} / ${String(count)} AS ms
                     FROM generate_series(place, place + ${String(BATCH - 1)}) AS i) AS n;
         END LOOP;
       END $do$`,
    );
    await client.query('ANALYZE failure_counts');
    return round((performance.now() - began) / 1_000, 1);
  });

export type ClassMeasurement = {
  readonly measurement: 'failures by class';
  readonly range: string;
  readonly failures: number;
  readonly items: number;
  readonly answerMs: Percentiles;
};

const ASKED = 40;

/** Requests each range repeatedly over the bus. */
export const measureClasses = async (
  client: Client,
  failures: number,
  print: (measurement: ClassMeasurement) => void,
): Promise<void> => {
  const to = Date.now();
  const ranges: readonly (readonly [string, ApiRequest<'recovery', 'failure_counts'>])[] = [
    ['a day by hours', { from: to - DAY, to, bucket: 'hour' }],
    ['a week by days', { from: to - 7 * DAY, to, bucket: 'day' }],
    ['a month by days', { from: to - 31 * DAY, to, bucket: 'day' }],
    ['399 days by days', { from: to - 399 * DAY, to, bucket: 'day' }],
  ];
  for (const [range, query] of ranges) {
    const durations: number[] = [];
    let items = 0;
    for (let i = 0; i < ASKED; i += 1) {
      const at = performance.now();
      items = (await client.call('recovery', 'failure_counts', query)).items.length;
      durations.push(performance.now() - at);
    }
    print({ measurement: 'failures by class', range, failures, items, answerMs: percentiles(durations) });
  }
};
