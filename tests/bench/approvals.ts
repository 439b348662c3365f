import { createHash } from 'node:crypto';
import type { Client } from '@holdpoint/cli/bus/client';
import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import { ApprovalId } from '@holdpoint/contracts/values/ids';
import { type AdminConnection, withAdmin } from '@holdpoint/infra/postgres/admin';
import { setTimeout as delay } from 'node:timers/promises';
import { measurePages } from './pages.ts';
import { type Percentiles, percentiles, round } from './report/percentiles.ts';

/** The ids of one load, by number. */
const idOf = (run: string, number: number): ApprovalId => ApprovalId.parse(`a-${run}-${String(number)}`);

const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
/** As {@link REQUESTS} makes it. */
const digestOf = (number: number): string => md5(String(number)).repeat(2);

/**
 * Variety in everything that a list can filter by: kinds, classes, 40 groups, 200 requesters, tasks of five,
 * rare and common words.
 */
const REQUESTS = `
  SELECT i, 'a-' || $1 || '-' || i AS id, asked_at, 86400000 + i::bigint * 7919 % 3600000 AS timeout,
         CASE WHEN kind IN ('deploy', 'merge', 'destructive_edit') OR kind || class = 'write_externalopaque' THEN 'high'
              WHEN kind = 'write_external' OR class = 'opaque' THEN 'medium' ELSE 'low' END AS risk,
         jsonb_build_object(
           'id', 'a-' || $1 || '-' || i, 'task', task, 'node', 'gate', 'revision', 1, 'effectId', 'e-' || $1 || '-' || i,
           'effect', jsonb_build_object('task', task, 'node', 'gate', 'uses', 'cap.file.append', 'kind', kind,
             'effectClass', class, 'target', 'file:reports/' || i % 1000 || '.txt', 'idempotencyKey', 'append:' || i,
             'args', jsonb_build_object('file', 'reports/' || i % 1000 || '.txt', 'line', repeat('a line of text ', 20))),
           'digest', md5(i::text) || md5(id::text), 'title', 'append a line to report number' || i,
           'requestedBy', 'person-' || i % 200,
           'audience', jsonb_build_array('operators', 'group:team-' || i % 40)) AS request
    FROM (SELECT i, i AS id, 't-' || $1 || '-' || i / 5 AS task,
                 (extract(epoch FROM now()) * 1000)::bigint - 1000000 + i AS asked_at,
                 (ARRAY['write_external','deploy','merge','notify','destructive_edit','other'])[1 + i % 6] AS kind,
                 (ARRAY['fenced','keyed','probeable','idempotent','opaque'])[1 + i / 6 % 5] AS class
            FROM generate_series($2::int, $3::int) AS i) AS numbers`;

const BATCH = 20_000;

type Load = { readonly from: number; readonly to: number };

const inBatches = async (
  { from, to }: Load,
  add: (first: number, last: number) => Promise<unknown>,
): Promise<number> => {
  const began = performance.now();
  for (let first = from; first < to; first += BATCH) await add(first, Math.min(first + BATCH, to) - 1);
  return round((performance.now() - began) / 1_000, 1);
};

const EVENTS = `
  INSERT INTO event_runs (aggregate, first, at, events)
  SELECT id, 1, now(), json_build_array(request || jsonb_build_object('type', 'requested', 'timeoutMs', timeout,
           'expiresAt', asked_at + timeout)) FROM (${REQUESTS}) AS r`;

const HEADS = `
  INSERT INTO heads (id, kind, version, status, created_at, view)
  SELECT id, 'approval', 1, 'pending', asked_at, jsonb_build_object('task', request->'task', 'audience', request->'audience',
           'status', 'pending', 'risk', risk, 'requestedAt', asked_at, 'expiresAt', asked_at + timeout)::json FROM (${REQUESTS}) AS r`;

const WORDS = `array_to_tsvector(array_remove(regexp_split_to_array(lower(concat_ws(' ',
  request->>'title', request->'effect'->>'target', request->'effect'->>'uses', request->>'task')), '[^a-z0-9]+'), ''))`;

const INBOX = `
  INSERT INTO inbox (id, member, requested_at, expires_at, risk, kind, requester, task, words)
  SELECT id, member, asked_at, asked_at + timeout, array_position(ARRAY['high', 'medium', 'low'], risk) - 1,
         request->'effect'->>'kind', (request->'requestedBy')::text,
         CASE member WHEN '' THEN request->>'task' END, CASE member WHEN '' THEN ${WORDS} END
    FROM (${REQUESTS}) AS r
   CROSS JOIN LATERAL (SELECT '' UNION ALL SELECT value::text FROM jsonb_array_elements(request->'audience')) AS a(member)`;

/**
 * Adds decidable requests by SQL: events through the audit trigger, timers, heads, and rows of the inbox. Returns the
 * seconds.
 */
export const loadDecidable = (admin: AdminConnection, run: string, load: Load): Promise<number> =>
  withAdmin(admin, async (client) => {
    await client.query('SET search_path = approvals; SET statement_timeout = 0');
    return inBatches(load, async (...numbers) => {
      const values = [run, ...numbers];
      await client.query(EVENTS, values);
      await client.query(
        `INSERT INTO timers (aggregate, name, due_at, data)
         SELECT id, 'expiry', to_timestamp((asked_at + timeout) / 1000.0), 'null' FROM (${REQUESTS}) AS r`,
        values,
      );
      await client.query(HEADS, values);
      await client.query(INBOX, values);
    });
  });

/**
 * Adds listed requests by SQL without triggers, and rebuilds the indexes of the inbox. Returns the seconds.
 */
export const loadListed = (admin: AdminConnection, run: string, load: Load): Promise<number> =>
  withAdmin(admin, async (client) => {
    const began = performance.now();
    await client.query(
      'SET search_path = approvals; SET statement_timeout = 0; SET session_replication_role = replica',
    );
    const { rows: indexes } = await client.query<{ name: string; text: string }>(
      `SELECT indexname AS name, indexdef AS text FROM pg_indexes
        WHERE schemaname = 'approvals' AND tablename LIKE 'inbox%' AND indexname NOT LIKE '%_pkey'`,
    );
    for (const { name } of indexes) await client.query(`DROP INDEX ${name}`);
    await inBatches(load, async (...numbers) => {
      await client.query(EVENTS, [run, ...numbers]);
      await client.query(HEADS, [run, ...numbers]);
      await client.query(INBOX, [run, ...numbers]);
    });
    for (const { text } of indexes) await client.query(text);
    await client.query('ANALYZE event_runs, heads, inbox');
    return round((performance.now() - began) / 1_000, 1);
  });

export type DecisionMeasurement = {
  readonly measurement: 'decisions';
  readonly pending: number;
  readonly decisionsPerSecond: number;
  readonly decided: number;
  /** From the due time of the request to its answer, over the bus. */
  readonly decideMs: Percentiles;
};

const TICK_MS = 10;

/** Decides requests at a fixed rate, independent of the answers. Throws on any failure. */
export const measureDecisions = async (
  client: Client,
  run: string,
  { pending, rate, seconds }: { readonly pending: number; readonly rate: number; readonly seconds: number },
): Promise<DecisionMeasurement> => {
  const durations: number[] = [];
  const answers: Promise<unknown>[] = [];
  const began = performance.now();
  const count = Math.min(pending, Math.floor(rate * seconds));
  const decide = async (number: number): Promise<void> => {
    const dueAt = began + (number * 1_000) / rate;
    await client.call(
      'approvals',
      'decide',
      { id: idOf(run, number), digest: digestOf(number), decision: number % 5 === 0 ? 'reject' : 'approve' },
      { timeoutMs: 30_000 },
    );
    durations.push(performance.now() - dueAt);
  };
  for (let sent = 0; sent < count;) {
    const due = Math.min(count, Math.floor(((performance.now() - began) * rate) / 1_000) + 1);
    for (; sent < due; sent += 1) answers.push(decide(sent));
    await delay(TICK_MS);
  }
  await Promise.all(answers);
  const took = (performance.now() - began) / 1_000;
  return {
    measurement: 'decisions',
    pending,
    decisionsPerSecond: round(durations.length / took, 1),
    decided: durations.length,
    decideMs: percentiles(durations),
  };
};

const TEAMS = Array.from({ length: 8 }, (_, i) => `group:team-${String(i)}`);

const listsOf = (
  run: string,
  pending: number,
): readonly (readonly [string, ApiRequest<'approvals', 'list'>])[] => [
  ['oldest first', {}],
  ['expiring first', { order: 'expiring' }],
  ['by risk', { order: 'risk' }],
  ['of a person with 8 groups', { audience: ['operators', ...TEAMS] }],
  ['of a person with 8 groups, by risk', { audience: ['operators', ...TEAMS], order: 'risk' }],
  [
    'of a group, of one kind, expiring first',
    { audience: TEAMS.slice(1, 2), kind: 'deploy', order: 'expiring' },
  ],
  [
    'of a kind and a requester that never meet',
    { kind: 'deploy', requester: 'person-0', audience: ['operators'] },
  ],
  ['of a requester, of low risk', { requester: 'person-11', risk: 'low' }],
  ['of a task', { task: `t-${run}-${String(Math.floor(pending / 10))}` as never }],
  ['with a word that all have', { search: 'append' }],
  ['with a word that one in a thousand has', { search: '777' }],
  ['with a word that one has', { search: `number${String(pending - 7)}`, order: 'risk' }],
  ['with words that all have and one has', { search: `append number${String(pending - 7)}` }],
  ['with a word that nothing has', { search: 'nowhere' }],
];

export type PageMeasurement = {
  readonly measurement: 'page of pending';
  readonly list: string;
  readonly pending: number;
  readonly items: number;
  readonly pageMs: Percentiles;
};

/** Reads each list page by page over the bus. */
export const measureInboxPages = async (
  client: Client,
  run: string,
  pending: number,
  print: (measurement: PageMeasurement) => void,
): Promise<void> => {
  for (const [list, query] of listsOf(run, pending)) {
    const pages = await measurePages((after) => client.call('approvals', 'list', { ...query, ...after }));
    print({ measurement: 'page of pending', list, pending, ...pages });
  }
};
