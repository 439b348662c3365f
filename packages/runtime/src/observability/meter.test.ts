import { describe, expect, test } from 'vitest';
import { silentLogger } from './log.ts';
import { createMeter } from './meter.ts';
import { createPolledMetrics } from './polled-metrics.ts';

const shown = async (meter: ReturnType<typeof createMeter>): Promise<readonly string[]> =>
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
  test('polled metrics show the latest reading, and none after a failed reading', async () => {
    const meter = createMeter('executor');
    let failures = 0;
    const polled = createPolledMetrics(meter.gauge, () => (failures += 1), silentLogger());
    let fails = false;
    polled.add({ age: { help: 'Age' }, rows: { help: 'Rows', labels: ['table'] } }, () =>
      fails
        ? Promise.reject(new Error('away'))
        : Promise.resolve({ age: 7, rows: [{ labels: { table: 'outbox' }, value: 3 }] }),
    );
    expect(await shown(meter)).toEqual(['# no registered metrics']);
    await polled.readAll();
    expect(await shown(meter)).toEqual(
      expect.arrayContaining(['age{service="executor"} 7', 'rows{table="outbox",service="executor"} 3']),
    );
    fails = true;
    await polled.readAll();
    expect(await shown(meter)).toEqual(['# no registered metrics']);
    expect(failures).toBe(1);
    await polled.stop();
  });
});
