import {
  CLOCK_LAG_MAX_MS,
  Conflict,
  type Locked,
  type Store,
  type StoredEvent,
  type Transaction,
} from '@holdpoint/runtime/engine/ports';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { memoryBacking, postgresBacking, type StoreBacking } from '../../kit/stack/store-backing.ts';
import { Hopeless, until, untilTrue } from '../../kit/until.ts';
import { append, commitTo, eventOf, messageOf, timerOf, writeOf, headsOf } from '../../kit/effects/writes.ts';

const backings: readonly (readonly [string, () => Promise<StoreBacking>])[] = [
  ['in memory', memoryBacking],
  ['on PostgreSQL', postgresBacking],
];

/** Long ago, so that it is due at any time of the clock. */
const LONG_AGO = 1_000;
const FAR_AHEAD_MS = 3_600_000;

describe.each(backings)('a store %s', (_name, open) => {
  let backing: StoreBacking;
  let store: Store;
  beforeAll(async () => {
    backing = await open();
    store = backing.store;
  });
  afterAll(() => backing.close());

  let count = 0;
  const newId = (): string => {
    count += 1;
    return `aggregate-${String(count)}`;
  };

  const read = async (id: string) => {
    const transaction = await store.lock([id]);
    try {
      const version = transaction.locked.get(id)?.version;
      const history = (await transaction.load([id])).get(id);
      return { version, history };
    } finally {
      await transaction.rollback();
    }
  };

  const eventsOfOneDecision = (id: string, howMany: number): readonly StoredEvent[] =>
    Array.from({ length: howMany }, (_, index) => ({ ...eventOf(id, index + 1), at: LONG_AGO }));

  /** Reads the due timers without clearing them. */
  const dueTimers = async (ids: readonly string[]) => {
    const { transaction, due } = await store.lockDue(500);
    await transaction.rollback();
    return due.filter(({ aggregate }) => ids.includes(aggregate));
  };

  /**
   * Locks an aggregate from another replica while a transaction holds it, and returns once it waits. The
   * test ends both.
   */
  const lockBehind = async (holder: Transaction, id: string): Promise<() => Promise<Transaction>> => {
    let settled = false;
    const waiting = backing.replica.lock([id]).finally(() => (settled = true));
    onTestFinished(async () => {
      await holder.rollback();
      await (await waiting).rollback();
    });
    await untilTrue('the other waits', () => {
      if (settled) throw new Hopeless('it has not waited');
      return backing.waits(() => settled);
    });
    return () => waiting;
  };

  const claim = (from: Store, row: string | undefined, claimMs = FAR_AHEAD_MS) =>
    until('the outbox row can be claimed', async () =>
      (await from.claimOutbox(0, claimMs, 500)).find(({ id }) => id === row),
    );

  describe('locks', () => {
    test('an unknown aggregate has no version', async () => {
      const id = newId();
      expect(await read(id)).toEqual({ version: undefined, history: { snapshot: undefined, events: [] } });
    });

    test('several aggregates are locked at once, each with its version', async () => {
      const [one, two, none] = [newId(), newId(), newId()];
      await append(store, one);
      await append(store, two);
      await append(store, two);
      const transaction = await store.lock([one, two, none].toSorted());
      expect(Object.fromEntries(transaction.locked)).toEqual({
        [one]: { kind: 'notes', version: 1 },
        [two]: { kind: 'notes', version: 2 },
      });
      await transaction.rollback();
    });

    test('a lock has one holder, and the next holder sees the commit of the previous one', async () => {
      const id = newId();
      await append(store, id);
      const first = await store.lock([id]);
      const waiting = await lockBehind(first, id);
      await first.commit(writeOf({ events: [eventOf(id, 2)] }));
      const second = await waiting();
      expect(second.locked.get(id)?.version).toBe(2);
      await second.rollback();
    });

    test('a transaction that waited for a lock sees a clock after the wait', async () => {
      const id = newId();
      await append(store, id);
      const first = await store.lock([id]);
      const waiting = await lockBehind(first, id);
      const begun = await backing.now();
      await untilTrue('the clock continues', async () => (await backing.now()) > begun + 20);
      const released = await backing.now();
      await first.rollback();
      const second = await waiting();
      // The stores have a resolution of one millisecond.
      expect(second.now).toBeGreaterThanOrEqual(Math.floor(released));
      expect(first.now).toBeLessThan(released);
      await second.rollback();
    });

    test('other aggregates do not wait for a lock', async () => {
      const [one, two] = [newId(), newId()];
      await append(store, one);
      await append(store, two);
      const first = await store.lock([one]);
      const second = await backing.replica.lock([two]);
      expect(second.locked.get(two)?.version).toBe(1);
      await Promise.all([first.rollback(), second.rollback()]);
    });
  });

  describe('a transaction of several parts', () => {
    test('its parts commit together, and each returns its own outbox row', async () => {
      const [one, two] = [newId(), newId()];
      const first = await store.lock([one]);
      const joined = await store.lock([two], first);
      const rows = await Promise.all([
        joined.commit(writeOf({ events: [eventOf(two, 1)] })),
        first.commit(writeOf({ events: [eventOf(one, 1)] })),
      ]);
      expect(new Set(rows).size).toBe(2);
      for (const id of [one, two]) expect((await read(id)).version).toBe(1);
    });

    test.each(['first', 'joined'])('a conflict in its %s part leaves nothing of any part', async (bad) => {
      const [one, two] = [newId(), newId()];
      await append(store, one);
      await append(store, two);
      const first = await store.lock([one]);
      const joined = await store.lock([two], first);
      const versionIn = (part: string): number => (part === bad ? 1 : 2);
      const ends = await Promise.allSettled([
        joined.commit(writeOf({ events: [eventOf(two, versionIn('joined'))] })),
        first.commit(writeOf({ events: [eventOf(one, versionIn('first'))] })),
      ]);
      expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      for (const end of ends) expect(end.status === 'rejected' && end.reason).toBeInstanceOf(Conflict);
      for (const id of [one, two]) expect((await read(id)).version).toBe(1);
    });

    test('its end releases the locks of all parts', async () => {
      const [one, two] = [newId(), newId()];
      const first = await store.lock([one]);
      await store.lock([two], first);
      await first.rollback();
      const next = await backing.replica.lock([one, two].toSorted());
      await next.rollback();
      expect(next.locked.size).toBe(0);
    });
  });

  describe('a transaction without locks', () => {
    const head = (version: number): Locked => ({ kind: 'notes', version });

    /** The store has to be asked until its connection has had a transaction, and its clock a quick answer. */
    const assume = (known: Readonly<Record<string, Locked | undefined>>, within?: Transaction) =>
      until('the store assumes what the caller knows', async () => {
        const transaction = await store.assume(new Map(Object.entries(known)), within);
        if (transaction === undefined) await read(newId());
        return transaction;
      });

    test('it commits on the versions that it assumes', async () => {
      const [known, unknown] = [newId(), newId()];
      await append(store, known);
      const transaction = await assume({ [known]: head(1), [unknown]: undefined });
      expect(Object.fromEntries(transaction.locked)).toEqual({ [known]: head(1) });
      const row = await transaction.commit(writeOf({ events: [eventOf(known, 2), eventOf(unknown, 1)] }));
      expect(row).toBeDefined();
      expect([(await read(known)).version, (await read(unknown)).version]).toEqual([2, 1]);
    });

    test('its clock lags at most by what the contract allows', async () => {
      const before = await backing.now();
      const transaction = await assume({});
      expect(transaction.now).toBeGreaterThanOrEqual(Math.floor(before) - CLOCK_LAG_MAX_MS);
      expect(transaction.now).toBeLessThanOrEqual(Math.ceil(await backing.now()));
      await transaction.rollback();
    });

    test('its events are stored with a time that follows all their causes', async () => {
      const id = newId();
      const transaction = await assume({ [id]: undefined });
      const before = Math.floor(await backing.now());
      await transaction.commit(writeOf({ events: [eventOf(id, 1)] }));
      expect((await read(id)).history?.times?.at).toBeGreaterThanOrEqual(before);
    });

    test('its parts store their events with one time, so that no effect precedes its cause', async () => {
      const [one, two] = [newId(), newId()];
      const many = (id: string) => Array.from({ length: 3_000 }, (_, index) => eventOf(id, index + 1));
      const first = await assume({ [one]: undefined });
      const joined = await assume({ [two]: undefined }, first);
      await Promise.all([
        joined.commit(writeOf({ events: many(two) })),
        first.commit(writeOf({ events: many(one) })),
      ]);
      const times = [(await read(one)).history?.times, (await read(two)).history?.times];
      expect(new Set(times.flatMap((each) => [each?.since, each?.at])).size).toBe(1);
    });

    test('it holds up no other transaction', async () => {
      const id = newId();
      await append(store, id);
      const transaction = await assume({ [id]: head(1) });
      const other = await backing.replica.lock([id]);
      await Promise.all([transaction.rollback(), other.rollback()]);
      expect(other.locked.get(id)).toEqual(head(1));
    });

    test.each([
      ['a later version', 2, head(1)],
      ['an earlier version', 2, head(3)],
      ['a version of an unknown aggregate', 0, head(1)],
      ['the absence of an aggregate', 1, undefined],
    ])('%s is a conflict that leaves nothing, with events and without', async (_case, stored, assumed) => {
      const id = newId();
      for (let version = 0; version < stored; version += 1) await append(store, id);
      const wrong = (assumed?.version ?? 0) + 1;
      const writes = [
        writeOf({ events: [eventOf(id, wrong)] }),
        writeOf({ timersSet: [timerOf(id, 'alarm', LONG_AGO)] }),
        writeOf({}),
      ];
      for (const write of writes) {
        const transaction = await assume({ [id]: assumed });
        await expect(transaction.commit(write)).rejects.toBeInstanceOf(Conflict);
      }
      expect((await read(id)).version ?? 0).toBe(stored);
      expect(await dueTimers([id])).toEqual([]);
    });

    test('a wrong version in one part leaves nothing of any part', async () => {
      const [one, two] = [newId(), newId()];
      await append(store, one);
      await append(store, two);
      const first = await assume({ [one]: head(1) });
      const joined = await assume({ [two]: head(2) }, first);
      const ends = await Promise.allSettled([
        joined.commit(writeOf({})),
        first.commit(writeOf({ events: [eventOf(one, 2)] })),
      ]);
      for (const end of ends) expect(end.status === 'rejected' && end.reason).toBeInstanceOf(Conflict);
      expect((await read(one)).version).toBe(1);
    });

    test('a part with locks and one without commit together', async () => {
      const [one, two] = [newId(), newId()];
      await append(store, two);
      const first = await assume({ [one]: undefined });
      const joined = await store.lock([two], first);
      await Promise.all([
        joined.commit(writeOf({ events: [eventOf(two, 2)] })),
        first.commit(writeOf({ events: [eventOf(one, 1)] })),
      ]);
      expect([(await read(one)).version, (await read(two)).version]).toEqual([1, 2]);
    });

    test('of several that assume the same version, one commits', async () => {
      const id = newId();
      await append(store, id);
      const all = await Promise.all([1, 2, 3].map(() => assume({ [id]: head(1) })));
      const ends = await Promise.allSettled(
        all.map((transaction) => transaction.commit(writeOf({ events: [eventOf(id, 2)] }))),
      );
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect((await read(id)).version).toBe(2);
    });
  });

  describe('content that events share', () => {
    const sharing = (id: string, digest: string) => ({
      events: [eventOf(id, 1, { shared: { gate: digest } })],
      shared: [{ digest, body: JSON.stringify({ for: digest }) }],
    });
    const whole = (digest: string) => [{ type: 'happened', version: 1, gate: { for: digest } }];

    test('each event that names shared content by its digest is read with it', async () => {
      const digest = newId();
      const [one, two] = [newId(), newId()];
      await commitTo(store, one, () => sharing(one, digest));
      await commitTo(backing.replica, two, () => sharing(two, digest));
      for (const id of [one, two]) expect((await read(id)).history?.events).toEqual(whole(digest));
    });

    test('a batch that fails leaves its shared content to the next one', async () => {
      const digest = newId();
      const id = newId();
      const taken = await append(store, id);
      const transaction = await store.lock([]);
      const late = transaction.commit(writeOf({ ...sharing(id, digest), heads: [] }));
      await expect(late).rejects.toThrow(Conflict);
      expect(taken.version).toBe(1);
      const other = newId();
      await commitTo(store, other, () => sharing(other, digest));
      expect((await read(other)).history?.events).toEqual(whole(digest));
    });

    test('a history whose shared content is missing cannot be read', async () => {
      const digest = newId();
      const id = newId();
      await commitTo(store, id, () => ({ ...sharing(id, digest), shared: [] }));
      await expect(read(id)).rejects.toThrow(`shared content ${digest} is missing in the store`);
    });
  });

  describe('a history', () => {
    test('a history has every event exactly as it was written', async () => {
      const id = newId();
      const odd = {
        text: 'ä€😀 "quoted" \\ \u2028',
        nested: { list: [1, null, [true]], empty: {} },
        big: 9_007_199_254_740_991,
      };
      await commitTo(store, id, () => ({ events: [eventOf(id, 1, odd), eventOf(id, 2)] }));
      await append(store, id);
      expect(await read(id)).toEqual({
        version: 3,
        history: {
          snapshot: undefined,
          events: [1, 2, 3].map((version) => ({ type: 'happened', version, ...(version === 1 && odd) })),
          times: expect.anything() as unknown,
        },
      });
    });

    test('a history with a snapshot has the events after it', async () => {
      const id = newId();
      const state = { counted: 2, ä: ['"'] };
      await append(store, id);
      await append(store, id, { snapshots: [{ aggregate: id, version: 2, state: JSON.stringify(state) }] });
      expect((await read(id)).history).toMatchObject({ snapshot: { version: 2, state }, events: [] });
      await append(store, id);
      expect((await read(id)).history).toMatchObject({
        snapshot: { version: 2, state },
        events: [{ type: 'happened', version: 3 }],
      });
      await append(store, id, { snapshots: [{ aggregate: id, version: 4, state: '{"counted":4}' }] });
      expect((await read(id)).history).toMatchObject({
        snapshot: { version: 4, state: { counted: 4 } },
        events: [],
      });
    });

    test('a history with a snapshot in the middle of a decision has the events after it, of any number', async () => {
      const id = newId();
      const events = eventsOfOneDecision(id, 200);
      await commitTo(store, id, () => ({
        events,
        snapshots: [{ aggregate: id, version: 100, state: '{}' }],
      }));
      const { history } = await read(id);
      expect(history?.events).toEqual(events.slice(100).map(({ body }): unknown => JSON.parse(body)));
    });

    test('a history has its start and the time and trace of its latest event, with any snapshot', async () => {
      const id = newId();
      const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      const first = eventOf(id, 1);
      await commitTo(store, id, () => ({ events: [first] }));
      expect((await read(id)).history?.times).toEqual({ since: first.at, at: first.at, trace: undefined });
      const second = { ...eventOf(id, 2), at: first.at + 86_400_000, trace };
      await commitTo(store, id, () => ({
        events: [second],
        snapshots: [{ aggregate: id, version: 2, state: '{}' }],
      }));
      expect((await read(id)).history?.times).toEqual({ since: first.at, at: second.at, trace });
    });

    test('the histories of several aggregates are loaded at once', async () => {
      const ids = [newId(), newId(), newId()];
      for (const id of ids) await append(store, id);
      const transaction = await store.lock(ids);
      const histories = await transaction.load(ids);
      expect([...histories.keys()].toSorted()).toEqual(ids.toSorted());
      await transaction.rollback();
    });
  });

  describe('a commit', () => {
    test('a commit without events creates no outbox row', async () => {
      expect((await commitTo(store, newId(), () => ({}))).row).toBeUndefined();
    });

    test('a commit replaces the summary', async () => {
      const id = newId();
      await append(store, id, {}, 'first');
      expect(await backing.summary(id)).toBe('first');
      await append(store, id, {}, 'second');
      expect(await backing.summary(id)).toBe('second');
    });

    test('a commit of an existing version is a conflict and leaves nothing', async () => {
      const id = newId();
      await append(store, id);
      const again = commitTo(store, id, () => ({
        events: [eventOf(id, 1, { other: true })],
        heads: headsOf([eventOf(id, 1)], 'lost'),
        timersSet: [timerOf(id, 'alarm', LONG_AGO)],
      }));
      await expect(again).rejects.toBeInstanceOf(Conflict);
      expect(await read(id)).toMatchObject({ version: 1, history: { events: [{ version: 1 }] } });
      expect(await dueTimers([id])).toEqual([]);
      expect(await backing.summary(id)).toBeUndefined();
    });

    test('many commits that create the same aggregate at once leave a history without gaps', async () => {
      const id = newId();
      const addOne = async (to: Store): Promise<number> =>
        until('one event is added', async () => {
          try {
            return (await append(to, id)).version;
          } catch (error) {
            if (error instanceof Conflict) return undefined;
            throw error;
          }
        });
      const versions = await Promise.all(
        [1, 2, 3, 4, 5].flatMap(() => [addOne(store), addOne(backing.replica)]),
      );
      expect(versions.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect((await read(id)).history?.events).toHaveLength(10);
    });

    test('a rollback leaves nothing and frees the lock', async () => {
      const id = newId();
      await append(store, id, {}, 'kept');
      const transaction = await store.lock([id]);
      await transaction.load([id]);
      await transaction.rollback();
      expect(await read(id)).toMatchObject({ version: 1 });
      expect(await backing.summary(id)).toBe('kept');
      await transaction.rollback();
      expect((await append(backing.replica, id)).version).toBe(2);
    });
  });

  describe('the rows of lists', () => {
    test('rows come, stay and go with the commits of their aggregate', async () => {
      const [id, other] = [newId(), newId()];
      const rowsOf = (...words: readonly string[]) => words.map((word) => ({ id, word }));
      await append(store, id, { listed: [...rowsOf('a'), { id: other, word: 'z' }] });
      expect(await backing.listed(id)).toEqual(['a']);
      await append(store, id, { listed: rowsOf('a', 'ü"') });
      expect(await backing.listed(id)).toEqual(['a', 'ü"']);
      await append(store, id);
      expect(await backing.listed(id)).toEqual(['a', 'ü"']);
      await append(store, id, { unlisted: [id] });
      expect([await backing.listed(id), await backing.listed(other)]).toEqual([[], ['z']]);
    });

    test('a conflict leaves the rows as they are', async () => {
      const id = newId();
      await append(store, id, { listed: [{ id, word: 'a' }] });
      const conflicting = (parts: object) =>
        commitTo(store, id, () => ({ events: [eventOf(id, 1)], ...parts }));
      await expect(conflicting({ listed: [{ id, word: 'b' }] })).rejects.toBeInstanceOf(Conflict);
      await expect(conflicting({ unlisted: [id] })).rejects.toBeInstanceOf(Conflict);
      expect(await backing.listed(id)).toEqual(['a']);
    });
  });

  describe('timers', () => {
    test('due timers come earliest first, with their data', async () => {
      const id = newId();
      const data = { ask: 2, text: 'ä"' };
      await append(store, id, {
        timersSet: [
          timerOf(id, 'later', LONG_AGO + 5, data),
          timerOf(id, 'sooner', LONG_AGO),
          timerOf(id, 'future', Date.now() + FAR_AHEAD_MS),
        ],
      });
      expect(await dueTimers([id])).toEqual([
        timerOf(id, 'sooner', LONG_AGO),
        timerOf(id, 'later', LONG_AGO + 5, data),
      ]);
    });

    test('a due timer comes again until a decision clears it', async () => {
      const id = newId();
      await append(store, id, { timersSet: [timerOf(id, 'alarm', LONG_AGO)] });
      for (const look of ['first', 'second', 'third'])
        expect({ look, due: await dueTimers([id]) }).toEqual({ look, due: [timerOf(id, 'alarm', LONG_AGO)] });
      const lost = commitTo(store, id, () => ({
        events: [eventOf(id, 1)],
        timersCleared: [{ aggregate: id, name: 'alarm' }],
      }));
      await expect(lost).rejects.toBeInstanceOf(Conflict);
      expect(await dueTimers([id])).toEqual([timerOf(id, 'alarm', LONG_AGO)]);
    });

    test('a timer keeps the trace of its creation', async () => {
      const id = newId();
      const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      await append(store, id, { timersSet: [{ ...timerOf(id, 'traced', LONG_AGO), trace }] });
      expect(await dueTimers([id])).toEqual([{ ...timerOf(id, 'traced', LONG_AGO), trace }]);
    });

    test('a timer moves when it is set again and disappears when it is cleared', async () => {
      const id = newId();
      await append(store, id, { timersSet: [timerOf(id, 'alarm', LONG_AGO)] });
      await commitTo(store, id, (_version, now) => ({
        timersSet: [timerOf(id, 'alarm', now + FAR_AHEAD_MS)],
      }));
      expect(await dueTimers([id])).toEqual([]);
      await commitTo(store, id, () => ({ timersSet: [timerOf(id, 'alarm', LONG_AGO)] }));
      expect(await dueTimers([id])).toHaveLength(1);
      await commitTo(store, id, () => ({ timersCleared: [{ aggregate: id, name: 'alarm' }] }));
      expect(await dueTimers([id])).toEqual([]);
    });

    test('a store says when its first timer is due', async () => {
      const id = newId();
      await append(store, id, { timersSet: [timerOf(id, 'alarm', LONG_AGO)] });
      expect(await store.nextDue()).toBeLessThanOrEqual(0);
      await commitTo(store, id, () => ({ timersCleared: [{ aggregate: id, name: 'alarm' }] }));
      expect(await dueTimers([id])).toEqual([]);
      // Other tests may have left due timers.
      const { transaction, due } = await store.lockDue(500);
      await transaction.rollback();
      expect((await store.nextDue()) <= 0).toBe(due.length > 0);
    });

    test('a due timer comes with the version of its aggregate, locked', async () => {
      const id = newId();
      await append(store, id, { timersSet: [timerOf(id, 'alarm', LONG_AGO)] });
      const { transaction, due } = await store.lockDue(500);
      expect(due.filter(({ aggregate }) => aggregate === id)).toHaveLength(1);
      expect(transaction.locked.get(id)?.version).toBe(1);
      const waiting = await lockBehind(transaction, id);
      await transaction.commit(
        writeOf({ events: [eventOf(id, 2)], timersCleared: [{ aggregate: id, name: 'alarm' }] }),
      );
      const next = await waiting();
      expect(next.locked.get(id)?.version).toBe(2);
      await next.rollback();
      expect(await dueTimers([id])).toEqual([]);
    });

    test('a due timer of a locked aggregate is skipped and comes later', async () => {
      const [held, free] = [newId(), newId()];
      for (const id of [held, free]) await append(store, id, { timersSet: [timerOf(id, 'alarm', LONG_AGO)] });
      const holder = await backing.replica.lock([held]);
      expect((await dueTimers([held, free])).map(({ aggregate }) => aggregate)).toEqual([free]);
      await holder.rollback();
      expect((await dueTimers([held])).map(({ aggregate }) => aggregate)).toEqual([held]);
      await commitTo(store, held, () => ({
        timersCleared: [held, free].map((aggregate) => ({ aggregate, name: 'alarm' })),
      }));
    });

    test('a due timer is fired by one of two replicas', async () => {
      const ids = [newId(), newId(), newId(), newId()];
      for (const id of ids) await append(store, id, { timersSet: [timerOf(id, 'alarm', LONG_AGO)] });
      const both = await Promise.all([store.lockDue(500), backing.replica.lockDue(500)]);
      const fired = both
        .flatMap(({ due }) => due.map(({ aggregate }) => aggregate))
        .filter((id) => ids.includes(id));
      for (const { transaction } of both) await transaction.rollback();
      expect(fired.toSorted()).toEqual(ids.toSorted());
      await commitTo(store, ids[0] ?? '', () => ({
        timersCleared: ids.map((aggregate) => ({ aggregate, name: 'alarm' })),
      }));
    });

    test('a timer that is extended during the search for due ones does not fire', async () => {
      const id = newId();
      await append(store, id);
      let tooLate = 0;
      for (let round = 0; round < 40; round += 1) {
        await commitTo(store, id, () => ({ timersSet: [timerOf(id, 'lease', LONG_AGO)] }));
        const extend = commitTo(backing.replica, id, (version, now) => ({
          events: [eventOf(id, version + 1)],
          timersSet: [timerOf(id, 'lease', now + FAR_AHEAD_MS)],
        }));
        const look = async (): Promise<void> => {
          const { transaction, due } = await store.lockDue(500);
          const fired = due.some(({ aggregate }) => aggregate === id);
          // The version shows on which side of the extension the lock was taken.
          if (fired && transaction.locked.get(id)?.version === round + 2) tooLate += 1;
          await transaction.rollback();
        };
        await Promise.all([extend, look(), look()]);
      }
      expect(tooLate).toBe(0);
      expect((await read(id)).version).toBe(41);
      expect(await dueTimers([id])).toEqual([]);
    });
  });

  describe('the outbox', () => {
    test('the outbox has the messages of a batch until they are confirmed', async () => {
      const id = newId();
      const messages = [messageOf('one'), messageOf('two')];
      const event = { ...eventOf(id, 1), trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
      const { row } = await commitTo(store, id, () => ({ events: [event], outbox: messages }));
      expect(await claim(store, row)).toMatchObject({ id: row, messages, events: [event] });
      await store.confirmOutbox([row ?? '']);
      expect((await store.claimOutbox(-FAR_AHEAD_MS, 0, 500)).map((each) => each.id)).not.toContain(row);
    });

    test('an outbox row has the announced events of its batch and no others', async () => {
      const [id, other] = [newId(), newId()];
      const events = [1, 2, 3, 4].map((version) => eventOf(id, version));
      const announced = events.filter(({ version }) => version !== 2);
      const { row } = await commitTo(store, id, () => ({ events, announced }));
      expect((await claim(store, row)).events.map(({ version }) => version)).toEqual([1, 3, 4]);
      const silent = await commitTo(store, other, () => ({ events: [eventOf(other, 1)], announced: [] }));
      expect(silent.row).toBeUndefined();
      expect((await read(other)).version).toBe(1);
    });

    test('a batch sees its own messages and no others', async () => {
      const id = newId();
      await append(store, id);
      const { row } = await commitTo(store, id, () => ({ events: [eventOf(id, 2), eventOf(id, 3)] }));
      await append(store, id);
      expect((await claim(store, row)).events.map(({ version }) => version)).toEqual([2, 3]);
    });

    test('an outbox row has the announced events of a decision with any number of events', async () => {
      const id = newId();
      const events = eventsOfOneDecision(id, 200);
      const announced = [...events.slice(0, 1), ...events.slice(60, 70), ...events.slice(199)];
      const { row } = await commitTo(store, id, () => ({ events, announced }));
      expect((await claim(store, row)).events).toEqual(announced);
    });

    test('a message is claimed by one of two replicas, and again when the claim expires', async () => {
      const rows = await Promise.all([1, 2, 3, 4, 5].map(async () => (await append(store, newId())).row));
      const both = await until('the rows are old enough', async () => {
        const claims = await Promise.all(
          [store, backing.replica].map((from) => from.claimOutbox(0, 50, 500)),
        );
        const claimed = claims.flat().map(({ id }) => id);
        return rows.every((row) => row !== undefined && claimed.includes(row)) ? claimed : undefined;
      });
      expect(both.length).toBe(new Set(both).size);
      await claim(backing.replica, rows[0]);
    });

    test('an unconfirmed message comes again, even after younger ones', async () => {
      const rows: string[] = [];
      for (const _ of [1, 2]) {
        const { row = '' } = await append(store, newId());
        rows.push(row);
        expect(await claim(store, row, 0)).toMatchObject({ id: row });
      }
      await untilTrue('both are claimed again', async () => {
        const again = (await store.claimOutbox(0, 0, 500)).map(({ id }) => id);
        return rows.every((row) => again.includes(row));
      });
    });

    test('a sweep skips messages that were committed a moment ago', async () => {
      const { row } = await append(store, newId());
      expect((await store.claimOutbox(FAR_AHEAD_MS, 0, 500)).map(({ id }) => id)).not.toContain(row);
    });

    test('a confirmation by a later batch removes a message if that batch commits', async () => {
      const id = newId();
      const { row = '' } = await append(store, id);
      const conflicting = commitTo(store, id, () => ({ events: [eventOf(id, 1)], outboxConfirmed: [row] }));
      await expect(conflicting).rejects.toBeInstanceOf(Conflict);
      expect(await claim(store, row, 0)).toMatchObject({ id: row });
      await append(store, newId(), { outboxConfirmed: [row] });
      expect((await store.claimOutbox(-FAR_AHEAD_MS, 0, 500)).map(({ id }) => id)).not.toContain(row);
    });
  });
});
