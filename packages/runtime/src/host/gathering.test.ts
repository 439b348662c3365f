import { describe, expect, test } from 'vitest';
import { tallyKind, type TallyMessage } from '../../testing/tally.ts';
import { add, engineInMemory, engineOver, type Fate, unreliable } from '../../testing/engine-run.ts';
import { createMemoryStore } from '../memory/store.ts';

/** A clock whose steps run when the test moves it. */
const steppedClock = () => {
  let now = 0;
  const steps: { readonly at: number; readonly step: () => void }[] = [];
  return {
    now: () => now,
    after: (ms: number, step: () => void) => {
      const entry = { at: now + ms, step };
      steps.push(entry);
      return () => void steps.splice(steps.indexOf(entry), steps.includes(entry) ? 1 : 0);
    },
    waiting: (): number => steps.length,
    advance: (ms: number): void => {
      now += ms;
      for (const entry of steps.filter(({ at }) => at <= now)) {
        steps.splice(steps.indexOf(entry), 1);
        entry.step();
      }
    },
  };
};
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const setup = (options: { readonly lazy?: boolean; readonly batchMax?: number } = {}) => {
  const time = steppedClock();
  const kind = {
    ...tallyKind,
    laneOf: () => (options.lazy === true ? ('lazy' as const) : ('first' as const)),
  };
  const run = engineInMemory({ clock: time, kind, batchMax: options.batchMax ?? 100 });
  const fates: Fate[] = [];
  const send = (id: string, message: TallyMessage = add(id)): void =>
    void run.send(id, message).then((fate) => fates.push(fate));
  return { ...run, time, send, fates };
};

describe('a batch under load', () => {
  test('a message that comes alone never waits', async () => {
    const { send, committed, time } = setup();
    for (const id of ['a', 'b', 'c']) {
      send(id);
      await settle();
    }
    expect(committed).toEqual([1, 1, 1]);
    expect(time.waiting()).toBe(0);
  });

  test('after a batch of several the next one waits three milliseconds for more messages', async () => {
    const { send, committed, time } = setup();
    for (const id of ['a', 'b']) send(id);
    await settle();
    send('c');
    await settle();
    expect(committed).toEqual([2]);
    send('d');
    time.advance(3);
    await settle();
    expect(committed).toEqual([2, 2]);
  });

  test('a full batch waits no longer', async () => {
    const { send, committed, time } = setup({ batchMax: 3 });
    for (const id of ['a', 'b']) send(id);
    await settle();
    for (const id of ['c', 'd', 'e']) send(id);
    await settle();
    expect(committed).toEqual([2, 3]);
    expect(time.waiting()).toBe(0);
  });

  test('an engine that was idle for a while decides the next message at once', async () => {
    const { send, committed, time } = setup();
    for (const id of ['a', 'b']) send(id);
    await settle();
    time.advance(21);
    send('c');
    await settle();
    expect(committed).toEqual([2, 1]);
  });
});

describe('a lazy message', () => {
  test('a lazy message waits 50 ms for another batch, and is then decided alone', async () => {
    const { send, fates, time } = setup({ lazy: true });
    send('a');
    time.advance(49);
    await settle();
    expect(fates).toEqual([]);
    time.advance(1);
    await settle();
    expect(fates).toMatchObject([{ settled: {} }]);
  });

  test('a lazy message rides on the batch of another', async () => {
    const time = steppedClock();
    const kind = {
      ...tallyKind,
      laneOf: (message: { readonly kind: string }) =>
        message.kind === 'busy' ? ('lazy' as const) : ('first' as const),
    };
    const { send, committed } = engineInMemory({ clock: time, kind });
    const all = Promise.all([send('a', { kind: 'busy', key: 'x' }), send('b', add('y'))]);
    expect(await all).toHaveLength(2);
    expect(committed).toEqual([2]);
    // It is no load, so the next message does not wait for others.
    void send('c', add('z'));
    await settle();
    expect(committed).toEqual([2, 1]);
  });

  test('an engine that stops decides its lazy messages', async () => {
    const { send, engine, fates } = setup({ lazy: true });
    send('a');
    await engine.idle();
    await settle();
    expect(fates).toMatchObject([{ settled: {} }]);
  });

  test('a store that is away makes a lazy message unavailable, and not lost', async () => {
    const time = steppedClock();
    const { store, down } = unreliable(createMemoryStore(() => 0));
    const kind = { ...tallyKind, laneOf: () => 'lazy' as const };
    const { send, engine } = engineOver(store, { clock: time, kind });
    down(new Error('away'));
    const fate = send('a', add('x'));
    await engine.idle();
    expect(await fate).toEqual({ unavailable: true });
  });
});
