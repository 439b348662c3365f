import { expect, test } from 'vitest';
import { createMemoryStore } from '../memory/store.ts';
import { createEngine } from '../engine/engine.ts';
import { createPreparation } from './preparation.ts';
import { type TallyEvent, tallyKind, type TallyWork, type ToTally } from '../../testing/tally.ts';

type Message = { readonly text: string };
type Item = {
  readonly kind: string;
  readonly aggregate: string;
  readonly message: Message;
  readonly prepare?: () => Generator<void, Message>;
};

const long = (aggregate: string, text: string, slices: number, log: string[] = []): Item => ({
  kind: 'task',
  aggregate,
  message: { text: `${text}, unprepared` },
  prepare: function* () {
    for (let slice = 0; slice < slices; slice += 1) {
      log.push(`${text} ${String(slice)}`);
      yield;
    }
    return { text };
  },
});
const short = (aggregate: string, text: string): Item => ({ kind: 'task', aggregate, message: { text } });

/** A pause ends when the test says so. */
const byHand = () => {
  const ready: string[] = [];
  let go: () => void = () => undefined;
  const pause = (): Promise<void> => new Promise((resolve) => (go = resolve));
  const preparation = createPreparation<Item>(({ message }) => void ready.push(message.text), pause);
  const slice = async (): Promise<void> => {
    go();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { preparation, ready, slice };
};

test('messages to other aggregates do not wait for a preparation', async () => {
  const { preparation, ready, slice } = byHand();
  preparation.accept(long('large', 'prepared', 3));
  for (const at of [0, 1, 2]) {
    preparation.accept(short('other', `other ${String(at)}`));
    expect(ready).toHaveLength(at + 1);
    await slice();
  }
  await preparation.idle();
  expect(ready).toEqual(['other 0', 'other 1', 'other 2', 'prepared']);
});

test('the messages of an aggregate keep their order', async () => {
  const { preparation, ready, slice } = byHand();
  preparation.accept(long('large', 'submission', 2));
  preparation.accept(short('large', 'cancellation'));
  preparation.accept(short('other', 'other'));
  await slice();
  expect(ready).toEqual(['other']);
  await slice();
  await preparation.idle();
  expect(ready).toEqual(['other', 'submission', 'cancellation']);
  preparation.accept(short('large', 'later'));
  expect(ready.at(-1)).toBe('later');
  expect(preparation.waiting()).toBe(0);
});

test('one preparation runs at a time', async () => {
  const [log, ready]: string[][] = [[], []];
  const preparation = createPreparation<Item>(
    ({ message }) => void ready?.push(message.text),
    () => Promise.resolve(),
  );
  preparation.accept(long('a', 'first', 2, log));
  preparation.accept(long('b', 'second', 2, log));
  await preparation.idle();
  expect(log).toEqual(['first 0', 'first 1', 'second 0', 'second 1']);
  expect(ready).toEqual(['first', 'second']);
});

test('a message whose preparation fails is decided unprepared', async () => {
  const ready: string[] = [];
  const preparation = createPreparation<Item>(
    ({ message }) => void ready.push(message.text),
    () => Promise.resolve(),
  );
  const broken = long('a', 'broken', 1);
  preparation.accept({
    ...broken,
    prepare: function* () {
      yield;
      throw new Error('out of order');
    },
  });
  await preparation.idle();
  expect(ready).toEqual(['broken, unprepared']);
});

test('an engine answers other messages while it prepares a long one, and is idle only afterwards', async () => {
  const answered: string[] = [];
  const engine = createEngine<ToTally, TallyEvent, TallyWork>({
    service: 'executor',
    kinds: { tally: tallyKind },
    store: createMemoryStore(() => 1),
    publisher: { publish: () => Promise.resolve(true) },
    perform: () => undefined,
    observer: {
      committed: () => undefined,
      batchFailed: () => undefined,
      timerFailed: () => undefined,
      publishUnconfirmed: () => undefined,
      callbackFailed: () => undefined,
    },
    yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
    batchMax: 10,
    cacheMax: 10,
  });
  const accept = (aggregate: string, key: string, slices?: number): void => {
    const message = { kind: 'add', key } as const;
    engine.accept(
      {
        kind: 'tally',
        aggregate,
        message,
        ...(slices !== undefined && {
          prepare: function* () {
            for (let slice = 0; slice < slices; slice += 1) {
              if (slice % 50 === 0) accept(`other-${String(slice)}`, `other ${String(slice)}`);
              yield;
            }
            return message;
          },
        }),
      },
      { committed: () => void answered.push(key), failed: () => undefined, unavailable: () => undefined },
    );
  };
  accept('large', 'large', 200);
  accept('large', 'after large');
  expect(engine.backlog()).toBeGreaterThanOrEqual(2);
  await engine.idle();
  expect(answered.slice(0, 4)).toEqual(['other 0', 'other 50', 'other 100', 'other 150']);
  expect(answered.slice(4)).toEqual(['large', 'after large']);
  expect(engine.backlog()).toBe(0);
});
