import type { Client } from '@holdpoint/cli/bus/client';
import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import { type AdminConnection, withAdmin } from '@holdpoint/infra/postgres/admin';
import { measurePages } from './pages.ts';
import { type Percentiles, round } from './report/percentiles.ts';

/**
 * Variety in everything that a list can filter by: 20 workflows in two versions, 200 users, one open task in
 * a thousand, and common, rare and unique words.
 */
const TASKS = `
  SELECT 't-' || $1 || '-' || i AS id,
         CASE WHEN i % 1000 = 0 THEN (ARRAY['paused','awaiting_approval','executing'])[1 + i / 1000 % 3]
              WHEN i % 50 = 7 THEN 'failed' ELSE 'completed' END AS phase,
         (extract(epoch FROM now()) * 1000)::bigint - ($4::bigint - i) * 1000 AS created_at,
         'template.flow' || i % 20 AS flow, 'v' || 1 + i / 20 % 2 AS version, 'person-' || i % 200 AS requester,
         'Append a line to report number' || i || ' of team' || i % 1000 || ', as it was agreed with everybody, and tell them so' AS goal
    FROM generate_series($2::int, $3::int) AS i`;

const BATCH = 50_000;

/** Adds listed tasks by SQL and rebuilds the indexes. Returns the seconds. */
export const loadTasks = (admin: AdminConnection, run: string, count: number): Promise<number> =>
  withAdmin(admin, async (client) => {
    const began = performance.now();
    await client.query(
      'SET search_path = orchestrator; SET statement_timeout = 0; SET session_replication_role = replica',
    );
    const { rows: indexes } = await client.query<{ name: string; text: string }>(
      `SELECT indexname AS name, indexdef AS text FROM pg_indexes
        WHERE schemaname = 'orchestrator' AND tablename IN ('listed', 'heads') AND indexname NOT LIKE '%_pkey'`,
    );
    for (const { name } of indexes) await client.query(`DROP INDEX ${name}`);
    for (let first = 0; first < count; first += BATCH) {
      const values = [run, first, Math.min(first + BATCH, count) - 1, count];
      await client.query(
        `INSERT INTO heads (id, kind, version, status, created_at, view, finished_at)
         SELECT id, 'task', 12, phase, created_at, json_build_object('workflow', flow || '@' || version, 'goal', goal),
                CASE WHEN phase IN ('completed', 'failed') THEN to_timestamp(created_at / 1000.0) END
           FROM (${TASKS}) AS t`,
        values,
      );
      await client.query(
        `INSERT INTO listed
         SELECT id, created_at, flow, flow || '@' || version, requester,
                array_to_tsvector(array_remove(regexp_split_to_array(lower(concat_ws(' ', goal, id, flow, version)), '[^a-z0-9]+'), ''))
           FROM (${TASKS}) AS t`,
        values,
      );
    }
    for (const { text } of indexes) await client.query(text);
    await client.query('ANALYZE heads, listed');
    return round((performance.now() - began) / 1_000, 1);
  });

type Asked = ApiRequest<'orchestrator', 'list'>;

const listsOf = (run: string, count: number): readonly (readonly [string, Asked])[] => {
  const half = Date.now() - (count / 2) * 1_000;
  return [
    ['all', {}],
    ['all, submitted before half of them', { createdBefore: half }],
    ['of a phase that one in three thousand is in', { phase: 'paused' }],
    ['of a phase that one in fifty is in', { phase: 'failed' }],
    ['of a workflow', { workflow: 'template.flow7' }],
    ['of one version of a workflow', { workflow: 'template.flow7@v1' }],
    ['of a person', { requestedBy: 'person-11' }],
    ['of a person and a workflow that never meet', { requestedBy: 'person-11', workflow: 'template.flow12' }],
    [
      'of a workflow, paused, before half of them',
      { workflow: 'template.flow0', phase: 'paused', createdBefore: half },
    ],
    ['of a workflow, failed', { workflow: 'template.flow7', phase: 'failed' }],
    ['with a word that all have', { search: 'append' }],
    ['with a word that one in a thousand has', { search: 'team777' }],
    ['with a word that one has', { search: `number${String(Math.floor(count / 7))}` }],
    ['with the beginning of words that ten thousand have', { search: 'agreed number77' }],
    ['with an id', { search: `t-${run}-${String(Math.floor(count / 3))}` }],
    ['with a word that nothing has', { search: 'nowhere' }],
    ['with a word that one in a thousand has, of a person', { search: 'team411', requestedBy: 'person-11' }],
  ];
};

export type TaskPageMeasurement = {
  readonly measurement: 'page of tasks';
  readonly list: string;
  readonly tasks: number;
  readonly items: number;
  readonly pageMs: Percentiles;
};

/** Reads each list page by page over the bus. */
export const measureTaskPages = async (
  client: Client,
  run: string,
  tasks: number,
  print: (measurement: TaskPageMeasurement) => void,
): Promise<void> => {
  for (const [list, query] of listsOf(run, tasks)) {
    const pages = await measurePages((after) => client.call('orchestrator', 'list', { ...query, ...after }));
    print({ measurement: 'page of tasks', list, tasks, ...pages });
  }
};
