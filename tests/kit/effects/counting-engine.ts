import { snapshotEvery } from '@holdpoint/runtime/engine/core';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { Addressed, AggregateKind } from '@holdpoint/runtime/engine/kinds';
import { type Decider, decision, type TimerFired } from '@holdpoint/runtime/decider';
import { createEngine } from '@holdpoint/runtime/engine/engine';
import type { EngineObserver } from '@holdpoint/runtime/engine/observer';
import type { CrashHook, Publisher, Store, WireMessage } from '@holdpoint/runtime/engine/ports';

/** Records each name once. A name with `throw` makes the decider throw, and one with a timer sets it. */
export type Note = { readonly kind: 'note'; readonly name: string; readonly timer?: string };
type Noted = { readonly type: 'noted'; readonly name: string };
export type Notes = { readonly names: readonly string[] };

export const notesDecider: Decider<Notes, Note | TimerFired, Noted> = {
  initial: { names: [] },
  evolve: ({ names }, { name }) => ({ names: [...names, name] }),
  decide: ({ names }, message, { now }) => {
    const { name } = message;
    if (name === 'throw') throw new Error('cannot be decided');
    const timers =
      message.kind === 'note' && message.timer !== undefined ? [{ set: message.timer, dueAt: now }] : [];
    return decision({
      events: names.includes(name) ? [] : [{ type: 'noted', name }],
      timers,
      answer: { ok: { names: names.length } },
    });
  },
};

export type ToNotes = Addressed<'notes', Note>;

const kind = (every: number): AggregateKind<Notes, Note, Noted> => ({
  publishedAs: 'recovery',
  decider: notesDecider,
  summarise: () => ({ status: 'noted', view: null }),
  snapshotDue: snapshotEvery(every),
});

export type Outcome = 'settled' | 'unavailable' | ErrorBody;

/** An engine with a decider of its own, and a publisher that records its input. */
export const createCountingEngine = (
  store: Store,
  options: {
    readonly snapshotEvery?: number;
    readonly crash?: CrashHook;
    readonly publisher?: Publisher;
  } = {},
) => {
  const published: WireMessage[] = [];
  const failures: unknown[] = [];
  const timerFailures: string[] = [];
  let bus = true;
  const noting: Publisher = {
    publish: (messages) => {
      published.push(...messages);
      return Promise.resolve(bus);
    },
  };
  const observer: EngineObserver = {
    committed: () => undefined,
    batchFailed: (_messages, error) => void failures.push(error),
    timerFailed: (_aggregate, name) => void timerFailures.push(name),
    publishUnconfirmed: () => undefined,
    callbackFailed: (error) => void failures.push(error),
  };
  const engine = createEngine<ToNotes, Noted, never>({
    service: 'recovery',
    kinds: { notes: kind(options.snapshotEvery ?? 1_000) },
    store,
    publisher: options.publisher ?? noting,
    perform: () => undefined,
    observer,
    batchMax: 100,
    cacheMax: 100,
    ...(options.crash && { crash: options.crash }),
  });
  return {
    engine,
    /** Ids of the messages given to the publisher, in order. */
    published: (): readonly string[] =>
      published.map(({ headers }) => headers.find(([name]) => name === 'ce-id')?.[1] ?? ''),
    failures: failures as readonly unknown[],
    timerFailures: timerFailures as readonly string[],
    /** Sets whether the bus confirms publications. */
    confirms: (yes: boolean): void => {
      bus = yes;
    },
    tell: (aggregate: string, name: string, timer?: string): Promise<Outcome> =>
      new Promise((resolve) => {
        engine.accept(
          {
            kind: 'notes',
            aggregate,
            message: { kind: 'note', name, ...(timer !== undefined && { timer }) },
          },
          {
            committed: () => resolve('settled'),
            failed: (error) => resolve(error),
            unavailable: () => resolve('unavailable'),
          },
        );
      }),
  };
};
