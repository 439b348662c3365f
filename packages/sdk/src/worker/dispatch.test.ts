import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { JsMsg } from '@nats-io/jetstream';
import { setImmediate as turn } from 'node:timers/promises';
import { createDispatch } from './dispatch.ts';
import { createKnownOrders } from './known-orders.ts';
import type { OrderSource } from './order-source.ts';

type Pull = {
  readonly most: number;
  readonly give: (order: string) => void;
  readonly end: (error?: Error) => void;
};

/** A version with orders under the control of the test. */
const source = () => {
  const pulls: Pull[] = [];
  let stops = 0;
  const from: OrderSource = {
    pull: (most, _withinMs, take) =>
      new Promise((resolve, reject) => {
        let left = most;
        const over = (): void => {
          pulls.splice(pulls.indexOf(pull), 1);
          resolve();
        };
        const pull: Pull = {
          most,
          give: (order) => {
            take(order as unknown as JsMsg);
            left -= 1;
            if (left === 0) over();
          },
          end: (error) =>
            error === undefined ? over() : (pulls.splice(pulls.indexOf(pull), 1), reject(error)),
        };
        pulls.push(pull);
      }),
    stop: () => {
      stops += 1;
    },
  };
  return { from, pulls, stops: () => stops, open: () => pulls.map(({ most }) => most) };
};

const start = (concurrency: number, names: readonly string[]) => {
  const sources = new Map(names.map((name) => [name, source()]));
  const working = new Map<string, () => void>();
  const troubles: string[] = [];
  const fresh: string[] = [];
  const recoveries: string[] = [];
  const dispatch = createDispatch({
    sources: new Map([...sources].map(([name, { from }]) => [name, from])),
    concurrency,
    take: (_hash, order) => new Promise((resolve) => void working.set(order as unknown as string, resolve)),
    onTrouble: (hash, _error, again) => {
      troubles.push(hash);
      if (!again) fresh.push(hash);
    },
    onRecovery: (hash) => void recoveries.push(hash),
  });
  const of = (name: string) => {
    const found = sources.get(name);
    if (found === undefined) throw new Error(name);
    return found;
  };
  return { dispatch, of, working, troubles, fresh, recoveries };
};

describe('pulling orders', () => {
  test('at most as many orders are pulled as there are free slots', async () => {
    const { of, working } = start(3, ['a']);
    expect(of('a').open()).toEqual([3]);
    of('a').pulls[0]?.give('1');
    of('a').pulls[0]?.give('2');
    await turn();
    expect(of('a').open()).toEqual([3]);
    of('a').pulls[0]?.give('3');
    await turn();
    expect(of('a').open()).toEqual([]);
    working.get('2')?.();
    await turn();
    expect(of('a').open()).toEqual([1]);
  });

  test('an idle version holds one slot, and a busy one gets all others', async () => {
    const { of } = start(6, ['a', 'b']);
    expect([of('a').open(), of('b').open()]).toEqual([[1], [1]]);
    of('a').pulls[0]?.give('1');
    await turn();
    expect([of('a').open(), of('b').open()]).toEqual([[2], [1]]);
    of('a').pulls[0]?.give('2');
    of('a').pulls[0]?.give('3');
    await turn();
    expect([of('a').open(), of('b').open()]).toEqual([[2], [1]]);
  });

  test('an idle version gives its slots back', async () => {
    const { of } = start(6, ['a', 'b']);
    of('a').pulls[0]?.give('1');
    await turn();
    of('a').pulls[0]?.end();
    await turn();
    expect([of('a').open(), of('b').open()]).toEqual([[1], [1]]);
  });

  test.each([7, 8, 9, 10])(
    'a worker with %i versions pulls orders of all of them at once, however busy some are',
    async (count) => {
      const names = Array.from({ length: count }, (_, at) => `v${String(at)}`);
      const { of, working } = start(10, names);
      expect(names.filter((name) => of(name).open().length === 0)).toEqual([]);
      let orders = 0;
      // The first two versions get more orders than there are slots, and no idle pull ends.
      for (let round = 0; round < 20; round += 1) {
        for (const name of names.slice(0, 2)) {
          of(name).pulls[0]?.give(`${name} ${String(orders)}`);
          orders += 1;
          await turn();
        }
        const [oldest] = working;
        if (round % 2 === 1 && oldest !== undefined) {
          working.delete(oldest[0]);
          oldest[1]();
          await turn();
        }
        expect(names.slice(2).map((name) => of(name).open())).toEqual(names.slice(2).map(() => [1]));
      }
      // Both of them still get a slot whenever one is free.
      for (const [order, finish] of working) {
        working.delete(order);
        finish();
        await turn();
      }
      expect(names.filter((name) => of(name).open().length === 0)).toEqual([]);
    },
  );

  test('versions take turns when there are fewer slots', async () => {
    const { of } = start(1, ['a', 'b']);
    expect([of('a').open(), of('b').open()]).toEqual([[1], []]);
    of('a').pulls[0]?.end();
    await turn();
    expect([of('a').open(), of('b').open()]).toEqual([[], [1]]);
  });

  test('a failing version keeps its slot, and is pulled again later while others continue', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { of, troubles } = start(3, ['a', 'b']);
    of('a').pulls[0]?.end(new Error('no stream'));
    await turn();
    expect(troubles).toEqual(['a']);
    of('b').pulls[0]?.give('1');
    await turn();
    of('b').pulls[0]?.give('2');
    await turn();
    expect([of('a').open(), of('b').open()]).toEqual([[], []]);
    vi.advanceTimersByTime(300);
    await turn();
    expect([of('a').open(), of('b').open()]).toEqual([[1], []]);
  });

  test('an outage is reported once, and so is its end', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { of, fresh, recoveries } = start(2, ['a']);
    for (let failures = 0; failures < 3; failures += 1) {
      of('a').pulls[0]?.end(new Error('timeout'));
      await turn();
      vi.advanceTimersByTime(5_000);
      await turn();
    }
    expect(fresh).toEqual(['a']);
    of('a').pulls[0]?.end();
    await turn();
    expect(recoveries).toEqual(['a']);
    of('a').pulls[0]?.end(new Error('timeout'));
    await turn();
    expect(fresh).toEqual(['a', 'a']);
  });

  test('no orders are pulled after the stop', async () => {
    const { of, dispatch } = start(2, ['a']);
    dispatch.stop();
    of('a').pulls[0]?.end();
    await turn();
    expect([of('a').open(), of('a').stops()]).toEqual([[], 1]);
  });
});

test('a taken order is known until it is forgotten', () => {
  const known = createKnownOrders();
  expect([known.add('t', 1), known.add('t', 1), known.add('t', 2)]).toEqual([true, false, true]);
  known.forget('t', 1);
  expect(known.add('t', 1)).toBe(true);
});

test('the oldest known orders are forgotten first', () => {
  const known = createKnownOrders();
  for (let lease = 0; lease < 5_001; lease += 1) known.add('t', lease);
  expect([known.add('t', 0), known.add('t', 5_000)]).toEqual([true, false]);
});
