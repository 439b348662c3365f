import { expect, test } from 'vitest';
import { percentiles } from './percentiles.ts';
import { sharesOf } from './profile.ts';

test('percentiles are measured values', () => {
  expect(percentiles([3, 1, 2])).toEqual({ p50: 2, p95: 3, p99: 3 });
  expect(percentiles(Array.from({ length: 100 }, (_, index) => index))).toEqual({
    p50: 50,
    p95: 95,
    p99: 99,
  });
});

test('a profile is summed by category without idle time', () => {
  const node = (id: number, functionName: string, url: string) => ({ id, callFrame: { functionName, url } });
  const profile = {
    nodes: [
      node(1, '(idle)', ''),
      node(2, 'query', 'file:///repo/node_modules/.pnpm/pg@8/node_modules/pg/lib/client.js'),
      node(3, 'decide', 'file:///repo/services/executor/src/domain/effect.ts'),
    ],
    samples: [1, 2, 3, 2],
    timeDeltas: [1_000, 300, 100, 0],
  };
  expect(sharesOf(JSON.stringify(profile))).toEqual({ pg: 75, 'services/executor': 25 });
});
