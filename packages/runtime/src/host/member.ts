import { matcherOf } from '@holdpoint/contracts/bus/subjects';
import { createCache } from './cache.ts';
import type { Clock } from '../engine/clock.ts';
import { eventMessage } from '../engine/batch.ts';
import type { AnyService, Callbacks } from '../engine/engine.ts';
import type { Inbound } from '../engine/intake.ts';
import { type Addressed, kindNamed } from '../engine/kinds.ts';
import { createLanes, type Lane } from './lanes.ts';
import type { Routed } from '../engine/inbound.ts';
import type { DeadLetterRow, Locked, OutboxRow, TimerRow, Transaction } from '../engine/ports.ts';
import { createLooks } from './looks.ts';
import { createPreparation } from './preparation.ts';
import { createSession, type Exchange, type Moment, type Session } from './session.ts';

/** A message that waits for its decision, and the time at which it was accepted. */
export type Item = Routed<Addressed> & Callbacks & { readonly since: number };

export type Buried = { readonly row: DeadLetterRow; readonly stored: () => void };

/** The aggregates of messages, in the one order in which every transaction locks. */
export const addressees = (items: readonly { readonly aggregate: string }[]): readonly string[] =>
  [...new Set(items.map(({ aggregate }) => aggregate))].toSorted();

/** What a service needs of its host. */
export type MemberHost = {
  readonly clock: Pick<Clock, 'now' | 'after'> | undefined;
  readonly yieldToEventLoop: () => Promise<void>;
  /** A message has come into the queue. */
  readonly arrived: () => void;
  readonly wake: () => void;
};

/** A lazy message waits so long for a batch of others, and is then decided alone. */
const LAZY_MS = 50;
const SWEEP_CLAIM_MS = 10_000;
const SWEEP_ROWS_MAX = 100;
/** A message that the bus has not confirmed is looked for during this time. */
const DOUBT_MS = 15_000;
/** The bus delivers a public event soon after its commit. */
const DECIDED_MAX = 10_000;

/** One service of a host: its queue of messages, its cached states and its outbox. */
export const createMember = (options: AnyService, { clock, yieldToEventLoop, arrived, wake }: MemberHost) => {
  const { service, kinds, store, publisher, mayPublish = () => true, observer } = options;
  const now = clock?.now ?? (() => 0);
  const cache = createCache(options.cacheMax);
  const waiting = createLanes<Item>(({ kind, message }): Lane => {
    const lane = kinds[kind]?.laneOf?.(message) ?? 'first';
    return clock === undefined && lane === 'lazy' ? 'first' : lane;
  });
  const buried: Buried[] = [];
  const confirmed: string[] = [];
  const underWay = new Set<Promise<void>>();
  const decided = new Set<string>();
  let readers: readonly (readonly [(tokens: readonly string[]) => boolean, Inbound<Addressed>])[] = [];
  const isAlone = options.isOwner !== undefined;
  const timers = createLooks(clock, isAlone);
  const outbox = createLooks(clock, isAlone);
  const doubtOutbox = (): void => outbox.press(DOUBT_MS);
  let timersWanted = false;
  /** Lazy messages have waited long enough, or may wait for a batch that is yet to come. */
  let lazyDue = false;
  let lazyTimed = false;

  const wakeForLazy = (): void => {
    if (lazyTimed) return;
    lazyTimed = true;
    clock?.after(LAZY_MS, () => {
      lazyTimed = false;
      if (waiting.size() === 0) return;
      lazyDue = true;
      wake();
    });
  };

  const preparation = createPreparation<Item>((item) => {
    const lane = waiting.put(item);
    arrived();
    if (lane === 'lazy') wakeForLazy();
    else wake();
  }, yieldToEventLoop);

  const publish = (rowId: string, { events, messages: own }: Omit<OutboxRow, 'id'>): void => {
    if (!mayPublish()) return;
    const messages = [
      ...events.map((event) => eventMessage(service, kindNamed(kinds, event.kind).publishedAs, event)),
      ...own,
    ];
    const publishing = publisher.publish(messages).then((all) => {
      underWay.delete(publishing);
      if (all) confirmed.push(rowId);
      else {
        doubtOutbox();
        observer.publishUnconfirmed(messages.length);
      }
    });
    underWay.add(publishing);
  };

  /** What the cache knows of the addressees. Undefined when it lacks one that may exist. */
  const assumptions = (items: readonly Addressed[]): ReadonlyMap<string, Locked | undefined> | undefined => {
    const known = new Map<string, Locked | undefined>();
    for (const { kind, aggregate, message } of items) {
      const cached = cache.latest(aggregate);
      if (cached !== undefined) known.set(aggregate, { kind: cached.kind, version: cached.version });
      else if (kinds[kind]?.creates?.(message) === true) known.set(aggregate, undefined);
      else if (!known.has(aggregate)) return undefined;
    }
    return known;
  };

  const removeConfirmed = async (): Promise<void> => {
    const done = confirmed.splice(0);
    await store.confirmOutbox(done).catch((error: unknown) => {
      confirmed.push(...done);
      throw error;
    });
  };

  return {
    service,
    kinds,
    store,
    observer,
    cache,
    publish,
    onCommitted: options.onCommitted,
    isOwner: (): boolean => options.isOwner?.() ?? true,
    fenced: (): void => options.onFenced?.(),
    /** Begins or joins a transaction on the addressees: without locks if it may and the cache knows all of them. */
    reach: async (
      items: readonly Addressed[],
      mayAssume: boolean,
      within?: Transaction,
    ): Promise<Transaction> => {
      const known = mayAssume ? assumptions(items) : undefined;
      const assumed = known && (await store.assume(known, within));
      return assumed ?? store.lock(addressees(items), within);
    },
    session: (transaction: Transaction, moment: Moment, exchange: Exchange, after: (() => void)[]): Session =>
      createSession(options, cache, transaction, moment, exchange, after),
    accept: (item: Omit<Item, 'since'>): void => preparation.accept({ ...item, since: now() }),
    bury: (letter: Buried): void => {
      buried.push(letter);
      wake();
    },
    receive: (inbound: readonly Inbound<Addressed>[]): void => {
      readers = inbound.map((each) => [matcherOf(each.consumer.filter), each] as const);
    },
    /** The reader of messages on this subject, whose tokens are given too. */
    readerOf: (subject: string, tokens: readonly string[]): Inbound<Addressed> | undefined =>
      readers.find(([takes, { wants }]) => takes(tokens) && wants?.(subject) !== false)?.[1],
    remember: (identities: Iterable<string>): void => {
      for (const identity of identities) decided.add(identity);
      for (const oldest of decided) {
        if (decided.size <= DECIDED_MAX) break;
        decided.delete(oldest);
      }
    },
    hasDecided: (identity: string): boolean => decided.has(identity),
    hasBatch: (): boolean => waiting.urgent() > 0 || buried.length > 0 || (lazyDue && waiting.size() > 0),
    waiting: (): number => waiting.size(),
    /** The number of waiting messages that are not lazy. */
    urgent: (): number => waiting.urgent(),
    take: (max: number, isFree: (aggregate: string) => boolean): readonly Item[] => {
      const items = waiting.take(max, isFree);
      if (waiting.size() === 0) lazyDue = false;
      return items;
    },
    /** Another process owns the service: the bus delivers to it what is not acknowledged here. */
    giveBack: (): void => {
      buried.length = 0;
      while (waiting.size() > 0) for (const item of waiting.take(waiting.size())) item.unavailable();
      lazyDue = false;
    },
    hasBuried: (): boolean => buried.length > 0,
    takeBuried: (): readonly Buried[] => buried.splice(0),
    buryAgain: (letters: readonly Buried[]): void => void buried.unshift(...letters),
    takeConfirmed: (): readonly string[] => confirmed.splice(0),
    confirmAgain: (rows: readonly string[]): void => void confirmed.push(...rows),
    timers,
    expectTimers: (set: readonly TimerRow[], at: number): void => {
      for (const { dueAt } of set) timers.expect(dueAt - at);
    },
    doubtOutbox,
    /** What an earlier process has left in the store is unknown here. */
    lookAnew: (): void => {
      timers.forget();
      // One sweep takes a limited number of rows, and later ones only rows of some age.
      doubtOutbox();
    },
    wantTimers: (wanted: boolean): void => void (timersWanted = wanted),
    wantsTimers: (): boolean => timersWanted,
    sweep: async (olderThanMs: number): Promise<number> => {
      await removeConfirmed();
      if (!mayPublish() || !outbox.isDue()) return 0;
      let rows: readonly OutboxRow[] = [];
      await outbox.look(async () => {
        rows = await store.claimOutbox(olderThanMs, SWEEP_CLAIM_MS, SWEEP_ROWS_MAX);
        return rows.length < SWEEP_ROWS_MAX ? Infinity : 0;
      });
      for (const row of rows) publish(row.id, row);
      return rows.length;
    },
    backlog: (): number => preparation.waiting() + waiting.size(),
    /** Lets the lazy messages be decided now. */
    hurry: (): void => {
      if (waiting.size() <= waiting.urgent()) return;
      lazyDue = true;
      wake();
    },
    prepared: (): Promise<void> => preparation.idle(),
    isPreparing: (): boolean => preparation.waiting() > 0,
    flush: async (): Promise<void> => {
      await Promise.all(underWay);
      await removeConfirmed();
    },
  };
};

export type Member = ReturnType<typeof createMember>;
