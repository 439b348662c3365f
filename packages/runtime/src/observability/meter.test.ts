import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLogger } from './log.ts';
import { createMeter, type Exposition } from './meter.ts';
import { createPolledMetrics } from './polled-metrics.ts';

const HOUR_MS = 3_600_000;

const shown = async (meter: { readonly exposition: Exposition }): Promise<readonly string[]> =>
  (await meter.exposition.text()).split('\n').filter((line) => line !== '');

describe('what a service shows', () => {
  test('a counter starts at zero and carries the name of the service', async () => {
    const meter = createMeter('executor');
    const count = meter.counter('holdpoint_effects_total', 'Effects', [
      { outcome: 'applied' },
      { outcome: 'in_doubt' },
    ]);
    count(2, { outcome: 'applied' });
    expect(await shown(meter)).toEqual([
      '# HELP holdpoint_effects_total Effects',
      '# TYPE holdpoint_effects_total counter',
      'holdpoint_effects_total{outcome="applied",service="executor"} 2',
      'holdpoint_effects_total{outcome="in_doubt",service="executor"} 0',
    ]);
  });

  test('histogram buckets are cumulative', async () => {
    const meter = createMeter('executor');
    const took = meter.histogram('holdpoint_effect_seconds', 'Effects', [1, 10]);
    for (const seconds of [0.5, 5, 50]) took(seconds);
    expect((await shown(meter)).slice(2)).toEqual([
      'holdpoint_effect_seconds_count{service="executor"} 3',
      'holdpoint_effect_seconds_sum{service="executor"} 55.5',
      'holdpoint_effect_seconds_bucket{service="executor",le="1"} 1',
      'holdpoint_effect_seconds_bucket{service="executor",le="10"} 2',
      'holdpoint_effect_seconds_bucket{service="executor",le="+Inf"} 3',
    ]);
  });

  test('a label set that is no longer read disappears', async () => {
    const meter = createMeter('executor');
    let targets = ['a', 'b'];
    meter.gauge('holdpoint_circuit_state', 'Circuits', ['target'], () =>
      targets.map((target) => ({ labels: { target }, value: 1 })),
    );
    expect(await shown(meter)).toContain('holdpoint_circuit_state{target="a",service="executor"} 1');
    targets = ['b'];
    expect(await shown(meter)).toEqual([
      '# HELP holdpoint_circuit_state Circuits',
      '# TYPE holdpoint_circuit_state gauge',
      'holdpoint_circuit_state{target="b",service="executor"} 1',
    ]);
  });

  test('a gauge named _total is exposed as a counter', async () => {
    const meter = createMeter('approvals');
    meter.gauge('holdpoint_failures_total', 'Failures', [], () => [{ labels: {}, value: 3 }]);
    expect(await shown(meter)).toContain('# TYPE holdpoint_failures_total counter');
    expect(await shown(meter)).toContain('holdpoint_failures_total{service="approvals"} 3');
  });

  test('label values are escaped', async () => {
    const meter = createMeter('executor');
    meter.gauge('holdpoint_x', 'X', ['target'], () => [{ labels: { target: 'a"} 9\nevil 1\\' }, value: 1 }]);
    expect((await shown(meter)).slice(2)).toEqual([
      'holdpoint_x{target="a\\"} 9\\nevil 1\\\\",service="executor"} 1',
    ]);
  });
});

describe('polled metrics', () => {
  const setUp = () => {
    const meter = createMeter('executor');
    const state = { isAway: false, hangs: false, readings: 0, failures: 0 };
    const polled = createPolledMetrics(meter.gauge, () => (state.failures += 1), silentLogger());
    polled.add({ age: { help: 'Age' }, rows: { help: 'Rows', labels: ['table'] } }, () => {
      state.readings += 1;
      if (state.hangs) return new Promise(() => undefined);
      if (state.isAway) return Promise.reject(new Error('away'));
      return Promise.resolve({ age: 7, rows: [{ labels: { table: 'outbox' }, value: 3 }] });
    });
    const scrape = (): Promise<readonly string[]> =>
      shown({ exposition: polled.readBefore(meter.exposition) });
    return { state, scrape };
  };
  const READ = ['age{service="executor"} 7', 'rows{table="outbox",service="executor"} 3'];
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('a process that no scrape asks reads nothing', async () => {
    const { state } = setUp();
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(state.readings).toBe(0);
  });

  test('a scrape reads them, and another one soon after shows the same reading', async () => {
    const { state, scrape } = setUp();
    const both = await Promise.all([scrape(), scrape()]);
    for (const lines of [...both, await scrape()]) expect(lines).toEqual(expect.arrayContaining(READ));
    expect(state.readings).toBe(1);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    await scrape();
    expect(state.readings).toBe(2);
  });

  test('after a failed reading they are not shown', async () => {
    const { state, scrape } = setUp();
    await scrape();
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    state.isAway = true;
    expect(await scrape()).toEqual(['# no registered metrics']);
    expect(state.failures).toBe(1);
  });

  test('a store that does not answer holds up no other metric, and hides old values', async () => {
    const { state, scrape } = setUp();
    await scrape();
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    state.hangs = true;
    const lines = scrape();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await lines).toEqual(['# no registered metrics']);
  });
});
