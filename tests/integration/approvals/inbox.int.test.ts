import { listRequests } from '@holdpoint/approvals/queries/requests';
import { ApprovalStatus } from '@holdpoint/contracts/approval/status';
import { type ApprovalView, Risk, riskOf } from '@holdpoint/contracts/approval/views';
import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import { ListApprovals } from '@holdpoint/contracts/approval/queries';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import fc from 'fast-check';
import type { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { cloneDatabase, type Database } from '../../kit/stack/databases.ts';
import { type InboxEntry, approvalsPool, keep, listAll, viewOf } from '../../kit/surfaces/inbox.ts';
import { currentRun } from '../../kit/stack/run.ts';

type Filter = ApiRequest<'approvals', 'list'>;
const ORDERS = ['oldest', 'expiring', 'risk', 'newest'] as const;

let database: Database;
let pool: Pool;
beforeAll(async () => {
  database = await cloneDatabase(currentRun().admin);
  pool = await approvalsPool(database);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
afterEach(() => pool.query(`DELETE FROM heads`));

const idsOf = (views: readonly { readonly id: string }[]): readonly string[] => views.map(({ id }) => id);
const sortedIds = (views: readonly { readonly id: string }[]): readonly string[] => idsOf(views).toSorted();

const entry = (id: string, more: Partial<InboxEntry> = {}): InboxEntry => ({
  id,
  task: `t-${id}`,
  title: 'append a line',
  requestedBy: 'ada',
  audience: ['operators'],
  requestedAt: 1_000,
  expiresAt: 2_000,
  status: 'pending',
  kind: 'notify',
  effectClass: 'keyed',
  target: 'file:sample.txt',
  uses: 'cap.file.append',
  ...more,
});

const keepAll = async (requests: readonly InboxEntry[]): Promise<readonly ApprovalView[]> => {
  const views = requests.map(viewOf);
  await keep(pool, views);
  return views;
};
const decide = (view: ApprovalView, status: ApprovalStatus = 'approved'): Promise<void> =>
  keep(pool, [{ ...view, status }]);

const kept = async (): Promise<unknown> => {
  const { rows } = await pool.query<object>(
    `SELECT count(DISTINCT id)::int AS requests, count(*)::int AS entries FROM inbox`,
  );
  return rows[0];
};

describe('a search', () => {
  const NAMES = ['operators', 'group:operators', 'user:ada', 'role:"chief"', 'über uns'];
  const WORDS = ['append', 'Deploy', 'straße', 'v2', 'a\tb', '\\u0041', 'ΣΊΣΥΦΟΣ'];
  const TASKS = ['t-one', 't-two', 't-three'];
  const words = fc
    .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 })
    .map((each) => each.join(' '));

  const request = fc.record({
    task: fc.constantFrom(...TASKS),
    title: words,
    target: words,
    uses: fc.constantFrom('cap.file.append', 'cap.notify.slack'),
    requestedBy: fc.constantFrom('ada', 'a "quoted" \t name'),
    audience: fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 1 }),
    requestedAt: fc.integer({ min: 1_000, max: 1_010 }),
    expiresAt: fc.integer({ min: 2_000, max: 2_010 }),
    status: fc.oneof(
      { weight: 4, arbitrary: fc.constant('pending' as const) },
      fc.constantFrom(...ApprovalStatus.options),
    ),
    kind: fc.constantFrom(...SideEffectKind.options),
    effectClass: fc.constantFrom(...EffectClass.options),
  });
  const option = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
    fc.option(arbitrary, { nil: undefined, freq: 2 });
  const filter = fc.record({
    status: fc.oneof(
      { weight: 4, arbitrary: fc.constant('pending' as const) },
      fc.constantFrom('approved' as const, 'decided' as const),
    ),
    audience: option(fc.uniqueArray(fc.constantFrom(...NAMES, 'nobody', 'nul\u0000'), { maxLength: 4 })),
    kind: option(fc.constantFrom(...SideEffectKind.options)),
    risk: option(fc.constantFrom(...Risk.options)),
    task: option(fc.constantFrom(...TASKS)),
    requester: option(fc.constantFrom('ada', 'a "quoted" \t name', 'nobody', 'nul\u0000')),
    search: option(
      fc.oneof(words, fc.constantFrom('cap', 'APPEND', 'STRASSE', 'b', 'a\u0000b', '-', 'file append one')),
    ),
    order: fc.constantFrom(...ORDERS),
    limit: fc.integer({ min: 1, max: 9 }),
  });

  /** JSON escapes end a word. */
  const wordsIn = (text: string): readonly string[] =>
    JSON.stringify(text)
      .replaceAll(/\\(u[0-9a-f]{4}|.)/g, ' ')
      .toLowerCase()
      .match(/[a-zA-Z0-9\u0080-\u{10FFFF}]+/gu) ?? [];
  const wordsSearched = (text: string): readonly string[] =>
    text.toLowerCase().match(/[a-zA-Z0-9\u0080-\u{10FFFF}]+/gu) ?? [];

  const isAskedFor = (
    view: ApprovalView,
    { audience, kind, risk, task, requester, search, status }: Filter,
  ): boolean => {
    const { title, effect } = view;
    const has = new Set([title, effect.target, effect.uses, view.task].flatMap(wordsIn));
    return (
      (status === 'decided' ? view.status !== 'pending' : view.status === status) &&
      (audience === undefined || audience.some((name) => view.audience.includes(name))) &&
      (kind === undefined || effect.kind === kind) &&
      (risk === undefined || riskOf(effect) === risk) &&
      (task === undefined || view.task === task) &&
      (requester === undefined || view.requestedBy === requester) &&
      (search === undefined || wordsSearched(search).every((word) => has.has(word)))
    );
  };
  const keyOf = (
    { effect, requestedAt, expiresAt }: ApprovalView,
    { order, status }: Filter,
  ): readonly number[] => {
    if (order === 'newest') return [-requestedAt];
    if (status !== 'pending' || order === 'oldest') return [requestedAt];
    return order === 'expiring' ? [expiresAt] : [-Risk.options.indexOf(riskOf(effect)), requestedAt];
  };
  const inOrder = (keys: readonly (readonly number[])[]): readonly (readonly number[])[] =>
    keys.toSorted((a, b) => (a[0] ?? 0) - (b[0] ?? 0) || (a[1] ?? 0) - (b[1] ?? 0));

  test('a search finds the requests that match, once and in order, whatever its filters', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { maxLength: 30 }),
        fc.array(filter, { minLength: 10, maxLength: 10 }),
        async (requests, filters) => {
          await pool.query('DELETE FROM heads');
          const views = await keepAll(requests.map((each, i) => entry(`a-${String(i)}`, each)));
          for (const each of filters) {
            const found = await listAll(pool, each);
            const wanted = views.filter((view) => isAskedFor(view, each));
            expect({ each, ids: sortedIds(found) }).toEqual({ each, ids: sortedIds(wanted) });
            const keys = found.map((view) => keyOf(view, each));
            expect(keys).toEqual(inOrder(keys));
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('pages', () => {
  const COUNT = 120;
  const many = (prefix: string, from: number) =>
    Array.from({ length: COUNT }, (_, i) =>
      entry(`${prefix}-${String(i)}`, {
        kind: SideEffectKind.options[i % SideEffectKind.options.length] ?? 'other',
        requestedAt: from + Math.floor(i / 7),
        expiresAt: from + ((i * 37) % COUNT),
        audience: i % 2 === 0 ? ['operators', 'user:ada'] : ['user:ada'],
      }),
    );

  test.each(ORDERS)(
    'each request that stays pending is listed exactly once in the order %s, despite other changes',
    async (order) => {
      const views = await keepAll(many('a-stays', 1_000));
      const leaving = await keepAll(many('a-leaves', 1_000));
      let round = 0;
      const found = await listAll(
        pool,
        { order, limit: 10, audience: ['user:ada', 'operators'] },
        async () => {
          await Promise.all(leaving.slice(round * 5, round * 5 + 5).map((view) => decide(view)));
          await keepAll(many(`a-new${String(round)}`, 990 + round * 5).slice(0, 5));
          round += 1;
        },
      );
      const ids = idsOf(found);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.filter((id) => id.startsWith('a-stays')).toSorted()).toEqual(sortedIds(views));
    },
  );

  test('a cursor of one order is refused in another', async () => {
    await keepAll(many('a', 1_000));
    const lists = [...ORDERS.map((order) => ({ order })), { status: 'approved' as const }];
    const [view] = many('a', 1_000).map(viewOf);
    if (view !== undefined)
      await keep(pool, [
        { ...view, id: view.id, status: 'approved' },
        { ...view, id: 'a-x' as never, status: 'approved' },
      ]);
    const listed = (asking: Filter) => listRequests(pool, ListApprovals.parse({ limit: 1, ...asking }));
    const places = await Promise.all(lists.map(async (each) => (await listed(each)).next ?? ''));
    const codeOf = (asking: Filter): Promise<string> =>
      listed(asking).then(
        ({ items }) => `${String(items.length)} items`,
        (error: unknown) => (error instanceof HoldpointError ? error.code : String(error)),
      );
    for (const [i, each] of lists.entries())
      for (const [k, after] of places.entries())
        expect([i, k, await codeOf({ ...each, after })]).toEqual([
          i,
          k,
          i === k ? '1 items' : 'CONTRACT_INVALID',
        ]);
    for (const after of ['', 'x', 'o0.1', 'o0.1.a.b', `o0.${'9'.repeat(17)}.a`, '1000.a-1'])
      await expect(listed({ after })).rejects.toMatchObject({ code: 'CONTRACT_INVALID' });
  });

  test('a result that is too large for one page comes on several, each with at least one item', async () => {
    const large = (id: string, bytes: number) => {
      const view = viewOf(entry(id, { requestedAt: 1_000 + bytes }));
      return { ...view, effect: { ...view.effect, args: { text: 'x'.repeat(bytes) } } };
    };
    const sizes = [200_000, 200_001, 200_002, 900_000, 900_001, 10];
    await keep(
      pool,
      sizes.map((bytes, i) => large(`a-${String(i)}`, bytes)),
    );
    const pages: (readonly string[])[] = [];
    let after: string | undefined;
    do {
      const page = await listRequests(pool, ListApprovals.parse({ after }));
      pages.push(idsOf(page.items));
      after = page.next;
    } while (after !== undefined);
    expect(pages).toEqual([['a-5', 'a-0', 'a-1'], ['a-2'], ['a-3'], ['a-4']]);
  });
});

test.each(['pending', 'decided'] as const)(
  'a request that is %s is found by the risk that it shows, which a remote capability can raise',
  async (status) => {
    const view = { ...viewOf(entry('a-1')), risk: 'high' as const };
    await keep(pool, [view]);
    if (status === 'decided') await decide(view);
    const found = async (risk: Risk) => idsOf(await listAll(pool, { status, risk }));
    expect([await found('low'), await found('high')]).toEqual([[], ['a-1']]);
  },
);

describe('words', () => {
  test('common and rare words find the same requests alone and together', async () => {
    const requests = Array.from({ length: 1_600 }, (_, i) =>
      entry(`a-${String(i)}`, {
        requestedAt: 1_000 + i,
        title: i >= 1_200 ? 'append late' : 'append early',
        target: i % 400 === 399 ? 'needle' : 'hay',
      }),
    );
    await keepAll(requests);
    const found = async (search: string, more: Filter = {}) =>
      (await listAll(pool, { search, ...more })).length;
    expect(await found('append')).toBe(1_600);
    expect(await found('late')).toBe(400);
    expect(await found('needle')).toBe(4);
    expect(await found('needle early', { order: 'expiring' })).toBe(3);
    expect(await found('needle nowhere')).toBe(0);
    expect(await found('needle', { audience: ['nobody'] })).toBe(0);
    expect(await found('late', { audience: ['operators'], kind: 'notify', limit: 7 })).toBe(400);
  });

  test('characters of query languages are searched literally', async () => {
    await keepAll([entry('a-1', { title: `it's a "test" & | ! <-> :* \\ (x)` })]);
    for (const search of [`it's`, '& | !', ':*', '\\', '(x)', 'TEST <->', "'"])
      expect({ search, ids: idsOf(await listAll(pool, { search })) }).toEqual({ search, ids: ['a-1'] });
    expect(await listAll(pool, { search: `it's not` })).toEqual([]);
  });

  test.each([
    ['umlauts', 'größe', ['größe', 'GRÖSSE', 'GRÖßE', 'grosse'], [true, false, true, false]],
    ['digits', 'v2.10', ['v2', '10', 'V2.10', '2'], [true, true, true, false]],
    ['punctuation', `it's/a_b-c`, ['its', 's', 'a_b', 'b c'], [false, true, true, true]],
    ['upper case', 'ΟΔΟΣ.X İst', ['οδος', 'οδοσ', 'ist', 'İST'], [true, true, false, true]],
    ['a long word', '😀'.repeat(150), ['😀'.repeat(150), '😀'.repeat(100), '😀'], [true, true, false]],
    [
      'the end of what is searched',
      `${'\t'.repeat(1_990)}near ${' '.repeat(20)}far`,
      ['near', 'far'],
      [true, false],
    ],
  ])('a pending and a decided request have the same words: %s', async (_, target, searches, finds) => {
    const [view] = await keepAll([entry('a-1', { target })]);
    const found = async (status: 'pending' | 'approved') =>
      Promise.all(
        searches.map(
          async (search) => (await listAll(pool, { status, search: `line ${search}` })).length === 1,
        ),
      );
    expect(await found('pending')).toEqual(finds);
    if (view !== undefined) await decide(view);
    expect(await found('approved')).toEqual(finds);
  });
});

describe('the inbox table', () => {
  test.each(ApprovalStatus.options.filter((status) => status !== 'pending'))(
    'the inbox has no request that is %s',
    async (status) => {
      const [view] = await keepAll([entry('a-1', { audience: ['operators', 'user:ada'] }), entry('a-2')]);
      expect(await kept()).toEqual({ requests: 2, entries: 5 });
      if (view !== undefined) await decide(view, status);
      expect(await kept()).toEqual({ requests: 1, entries: 2 });
      expect(idsOf(await listAll(pool, {}))).toEqual(['a-2']);
    },
  );

  test('the inbox follows an escalation and a purge', async () => {
    const [view] = await keepAll([entry('a-1')]);
    if (view === undefined) throw new Error('nothing was kept');
    await keep(pool, [{ ...view, audience: ['operators', 'role:chief'] }]);
    expect(idsOf(await listAll(pool, { audience: ['role:chief'] }))).toEqual(['a-1']);
    await pool.query(`DELETE FROM heads WHERE id = 'a-1'`);
    expect(await kept()).toEqual({ requests: 0, entries: 0 });
  });
});
