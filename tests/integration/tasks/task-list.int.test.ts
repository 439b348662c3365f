import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import { ListTasks } from '@holdpoint/contracts/task/queries';
import { TaskPhase } from '@holdpoint/contracts/task/status';
import type { Bounds } from '@holdpoint/orchestrator/queries/task-cursor';
import { listTasks } from '@holdpoint/orchestrator/queries/tasks';
import fc from 'fast-check';
import type { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { askOwner } from '../../kit/tasks/aged.ts';
import { cloneDatabase, type Database } from '../../kit/stack/databases.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { createSystem } from '../../kit/stack/system.ts';
import { keepTasks, type KeptTask, listAllTasks, orchestratorPool } from '../../kit/tasks/task-lists.ts';

type Filter = ApiRequest<'orchestrator', 'list'>;

let database: Database;
let pool: Pool;
beforeAll(async () => {
  database = await cloneDatabase(currentRun().admin);
  pool = await orchestratorPool(database);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
afterEach(() =>
  askOwner(database, 'TRUNCATE orchestrator.heads, orchestrator.event_runs, orchestrator.listed'),
);

const task = (id: string, more: Partial<KeptTask> = {}): KeptTask => ({
  id,
  phase: 'completed',
  workflow: 'draft@1',
  goal: 'Greet the reader',
  requestedBy: 'ada',
  createdAt: 1_000,
  ...more,
});
const idsOf = (items: readonly { readonly id: string }[]): readonly string[] => items.map(({ id }) => id);
const found = async (filter: Filter, bounds?: Bounds): Promise<readonly string[]> =>
  idsOf((await listAllTasks(pool, filter, bounds)).items);

describe('a task list', () => {
  const WORKFLOWS = ['draft@1', 'draft@2', 'template.develop@v1', 'draft-more@1'];
  const PEOPLE = ['ada', 'ada lovelace', 'a "quoted"\tname'];
  const WORDS = ['greet', 'Greeting', 'straße', 'v2', 'it’s', 'ΣΊΣΥΦΟΣ', '100%', '<b>'];
  const words = fc
    .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 })
    .map((each) => each.join(' '));
  const kept = fc.record({
    phase: fc.constantFrom(...TaskPhase.options),
    workflow: fc.constantFrom(...WORKFLOWS),
    goal: words,
    requestedBy: fc.constantFrom(...PEOPLE),
    createdAt: fc.integer({ min: 1_000, max: 1_010 }),
  });
  const option = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
    fc.option(arbitrary, { nil: undefined, freq: 2 });
  const filter = fc.record({
    phase: option(fc.constantFrom(...TaskPhase.options)),
    workflow: option(fc.constantFrom(...WORKFLOWS, 'draft', 'template.develop', 'nothing', 'nul\u0000')),
    requestedBy: option(fc.constantFrom(...PEOPLE, 'nobody', 'nul\u0000')),
    createdAfter: option(fc.integer({ min: 999, max: 1_011 })),
    createdBefore: option(fc.integer({ min: 999, max: 1_011 })),
    search: option(
      fc.oneof(words, fc.constantFrom('gree', 'gr', 'GREET', 't', 't 1', '-', 'draft', 'a\u0000b', ':*')),
    ),
    limit: fc.integer({ min: 1, max: 9 }),
  });

  // As small as the lists, so that a page ends for each possible reason.
  const bounds = fc.record({
    first: fc.integer({ min: 1, max: 12 }),
    rare: fc.integer({ min: 1, max: 6 }),
    all: fc.integer({ min: 12, max: 20 }),
    step: fc.integer({ min: 1, max: 5 }),
  });

  const wordsIn = (text: string): readonly string[] =>
    text.toLowerCase().match(/[a-zA-Z0-9\u0080-\u{10FFFF}]+/gu) ?? [];
  const isAskedFor = (each: KeptTask, asked: Filter): boolean => {
    const has = wordsIn(`${each.goal} ${each.id} ${each.workflow}`);
    const wanted = wordsIn(asked.search ?? '');
    return (
      (asked.phase === undefined || each.phase === asked.phase) &&
      (asked.workflow === undefined ||
        each.workflow === asked.workflow ||
        each.workflow.split('@')[0] === asked.workflow) &&
      (asked.requestedBy === undefined || each.requestedBy === asked.requestedBy) &&
      each.createdAt >= (asked.createdAfter ?? 0) &&
      each.createdAt < (asked.createdBefore ?? Infinity) &&
      wanted.every((word, i) =>
        has.some(
          (other) => other === word || (i === wanted.length - 1 && word.length > 2 && other.startsWith(word)),
        ),
      )
    );
  };

  test('a task list returns the matching tasks once, latest first, in pages, for any combination of filters', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(kept, { maxLength: 30 }),
        fc.array(filter, { minLength: 10, maxLength: 10 }),
        bounds,
        async (tasks, filters, limits) => {
          await askOwner(
            database,
            'TRUNCATE orchestrator.heads, orchestrator.event_runs, orchestrator.listed',
          );
          const all = tasks.map((each, i) => ({ ...each, id: `t-${String(i)}` }));
          await keepTasks(pool, all);
          for (const asked of filters) {
            const wanted = all
              .filter((each) => isAskedFor(each, asked))
              .toSorted((a, b) => b.createdAt - a.createdAt || (b.id < a.id ? -1 : 1));
            expect({ asked, ids: await found(asked, limits) }).toEqual({ asked, ids: idsOf(wanted) });
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('a task list names the requester; an unknown cursor is refused', async () => {
    await keepTasks(pool, [task('t-1')]);
    const { items } = await listTasks(pool, ListTasks.parse({}));
    expect(items).toEqual([
      {
        id: 't-1',
        phase: 'completed',
        version: 1,
        createdAt: 1_000,
        finishedAt: expect.any(Number) as number,
        workflow: 'draft@1',
        goal: 'Greet the reader',
        requestedBy: 'ada',
      },
    ]);
    await expect(listTasks(pool, ListTasks.parse({ after: 'x' }))).rejects.toMatchObject({
      code: 'CONTRACT_INVALID',
    });
  });

  test('a search finds words beyond the part of a goal that lists show', async () => {
    await keepTasks(pool, [task('t-1', { goal: `${'many words '.repeat(100)}needle` }), task('t-2')]);
    expect(await found({ search: 'needle' })).toEqual(['t-1']);
  });

  test('a search stops after a bounded number of tasks: a page ends early, and the next one continues', async () => {
    const many = Array.from({ length: 12_000 }, (_, i) =>
      task(`t-${String(i)}`, {
        createdAt: 1_000 + i,
        workflow: i < 6_000 ? 'draft@1' : 'draft@2',
        goal: i < 5_500 ? 'early' : 'late',
        phase: i === 3 ? 'failed' : 'completed',
      }),
    );
    await keepTasks(pool, many);
    expect(await listAllTasks(pool, { workflow: 'draft@1', limit: 500 })).toMatchObject({ pages: 13 });
    const failed = await listAllTasks(pool, { phase: 'failed', requestedBy: 'ada' });
    expect([idsOf(failed.items), failed.pages]).toEqual([['t-3'], 3]);
    // None of it among the latest.
    const early = await listAllTasks(pool, { search: 'early', limit: 500 });
    expect(new Set(idsOf(early.items)).size).toBe(5_500);
    expect(early.items.length).toBe(5_500);
    // A rare word is found at once, at any age.
    const one = await listAllTasks(pool, { search: 't-17' });
    expect(idsOf(one.items)).toContain('t-17');
    expect(one.items.every(({ id }) => id.startsWith('t-17'))).toBe(true);
  });
});

describe('every list is read by an index', () => {
  const INDEXES: readonly (readonly [Filter, string, string])[] = [
    [{}, 'hp_tasks_latest_exact', 'heads_latest'],
    [{ phase: 'failed' }, 'hp_tasks_phase_exact', 'heads_phase'],
    [{ workflow: 'draft' }, 'hp_tasks_flow_exact', 'listed_flow'],
    [{ requestedBy: 'ada' }, 'hp_tasks_requester_exact', 'listed_requester'],
    [{ workflow: 'draft@1', phase: 'failed' }, 'hp_tasks_flow_looked', 'listed_flow'],
    [{ requestedBy: 'ada', search: 'greet' }, 'hp_tasks_requester_looked', 'listed_requester'],
    [{ phase: 'paused', workflow: 'draft' }, 'hp_tasks_phase_looked', 'heads_phase'],
    [{ search: 'greet' }, 'hp_tasks_latest_looked', 'heads_latest'],
    [{ search: 'needle' }, 'hp_tasks_words', 'listed_words'],
  ];
  test.each(INDEXES)('the filter %j runs the query %s with the index %s', async (filter, name, index) => {
    const one = await orchestratorPool(database, 1);
    try {
      const tasks = Array.from({ length: 3_000 }, (_, i) => task(`t-${String(i)}`, { createdAt: 1_000 + i }));
      await keepTasks(pool, tasks);
      await askOwner(database, 'ANALYZE orchestrator.heads, orchestrator.listed');
      await listTasks(one, ListTasks.parse(filter));
      const { rows } = await one.query<{ parameters: string }>(
        'SELECT array_to_string(parameter_types, $2) AS parameters FROM pg_prepared_statements WHERE name = $1',
        [name, ','],
      );
      const values: Readonly<Record<string, string>> = {
        bigint: '1000',
        text: `'needle'`,
        tsquery: `'needle'`,
        smallint: '0',
      };
      const given =
        rows[0]?.parameters.split(',').map((type, i) =>
          // A filter without an index finds nothing.
          i === 0 && name.includes('latest') ? 'NULL' : (values[type] ?? 'NULL'),
        ) ?? [];
      const plan = await one.query<{ 'QUERY PLAN': string }>(`EXPLAIN EXECUTE ${name}(${given.join(', ')})`);
      const text = plan.rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(text).toContain(index);
      expect(text).not.toMatch(/Seq Scan on (heads|listed)/);
    } finally {
      await one.end();
    }
  });
});

describe('the index of task lists', () => {
  const kept = async () =>
    idsOf(await askOwner<{ id: string }>(database, 'SELECT id FROM orchestrator.listed ORDER BY id'));

  test('the index keeps a task until its purge, and the service cannot remove it', async () => {
    await keepTasks(pool, [task('t-1'), task('t-2')]);
    expect(await kept()).toEqual(['t-1', 't-2']);
    await pool.query(`UPDATE heads SET version = 2, status = 'failed' WHERE id = 't-1'`);
    expect(await found({ phase: 'failed' })).toEqual(['t-1']);
    await askOwner(database, `DELETE FROM orchestrator.heads WHERE id = 't-1'`);
    expect(await kept()).toEqual(['t-2']);
    await expect(pool.query('DELETE FROM listed')).rejects.toThrow(/permission denied/);
  });
});

test('a submitted task is found by all its words and fields, and by no others', async () => {
  const system = await createSystem();
  try {
    await system.startAll();
    // Without a token, so that the names differ.
    const submit = (id: string, goal: string, requestedBy: string) =>
      system.client.askRaw(
        subjects.api('orchestrator', 'submit'),
        JSON.stringify({
          id,
          workflow: 'sample',
          goal,
          requestedBy,
          inputs: { file: 'a.txt', line: 'x' },
        }),
      );
    const before = Date.now() - 3_600_000;
    await submit('t-first', 'Greet "everybody"\nin the house', 'grace');
    await submit('t-second', 'Something else', 'ada');
    const list = async (filter: Filter) =>
      idsOf((await system.client.ask('orchestrator', 'list', filter)).items);
    const all: Filter = {
      workflow: 'sample',
      requestedBy: 'unverified:grace',
      createdAfter: before,
      createdBefore: Date.now() + 3_600_000,
      search: 'everybody hous',
    };
    expect(await list(all)).toEqual(['t-first']);
    for (const other of [
      { workflow: 'sampl' },
      { requestedBy: 'unverified:ada' },
      { requestedBy: 'grace' },
      { createdAfter: all.createdBefore ?? 0 },
      { createdBefore: before },
      { search: 'everybody garden' },
    ])
      expect(await list({ ...all, ...other })).toEqual([]);
  } finally {
    await system.stop();
  }
});
