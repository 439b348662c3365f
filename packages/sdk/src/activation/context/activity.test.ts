import { describe, expect, test } from 'vitest';
import { setImmediate as turn } from 'node:timers/promises';
import { clockOf, createTimeline } from '../../testing/timeline.ts';
import { createActivity } from './activity.ts';

const start = (parkMs = 1_000) => {
  const timeline = createTimeline();
  const parked: (readonly string[])[] = [];
  const waits: boolean[] = [];
  const activity = createActivity({
    clock: clockOf(timeline, () => true),
    parkMs,
    onWaiting: (now) => waits.push(now),
  });
  void activity.parked.then((on) => parked.push(on));
  const pass = async (ms: number): Promise<void> => {
    timeline.moveTo(timeline.now() + ms);
    await turn();
  };
  return { activity, parked, waits, pass };
};

/** A promise that the test resolves. */
const open = () => {
  let end = (): void => undefined;
  const until = new Promise<void>((resolve) => (end = resolve));
  return { until: () => until, end: () => end() };
};

describe('a phase is parked', () => {
  test('a phase that only waits is parked with the keys it waits for', async () => {
    const { activity, parked, waits, pass } = start();
    const root = activity.open();
    void activity.waiting(root, 'a', open().until);
    void activity.waiting(root, 'b', open().until);
    await pass(999);
    expect(parked).toEqual([]);
    await pass(1);
    expect(parked).toEqual([['a', 'b']]);
    expect(waits).toEqual([true]);
  });

  test('other activity of the phase restarts the timer for parking', async () => {
    const { activity, parked, waits, pass } = start();
    const root = activity.open();
    const work = open();
    void activity.waiting(root, 'a', open().until);
    await pass(900);
    void activity.working(root, work.until);
    await pass(5_000);
    expect(parked).toEqual([]);
    work.end();
    await turn();
    await pass(999);
    expect(parked).toEqual([]);
    await pass(1);
    expect(parked).toEqual([['a']]);
    expect(waits).toEqual([true, false, true]);
  });

  test('a phase with a busy item is not parked', async () => {
    const { activity, parked, pass } = start();
    const [one, other] = [activity.open(), activity.open()];
    void activity.waiting(one, 'a', open().until);
    await pass(5_000);
    expect(parked).toEqual([]);
    activity.close(other);
    await pass(1_000);
    expect(parked).toEqual([['a']]);
  });

  test('a phase that waits for nothing is not parked', async () => {
    const { activity, parked, pass } = start();
    const root = activity.open();
    const wait = open();
    void activity.waiting(root, 'a', wait.until);
    wait.end();
    await turn();
    await pass(5_000);
    expect(parked).toEqual([]);
  });

  test('an ended phase is not parked', async () => {
    const { activity, parked, pass } = start();
    void activity.waiting(activity.open(), 'a', open().until);
    activity.stop();
    await pass(5_000);
    expect(parked).toEqual([]);
  });
});
