import { expect, test } from 'vitest';
import { placed } from './layout.ts';

test('what follows stands below, and routes that lead back or nowhere do no harm', () => {
  const { nodes, edges, height } = placed(
    ['a', 'b', '__proto__'],
    [
      { from: 'a', to: 'b' },
      { from: 'b', to: 'a', route: 'failed' },
      { from: 'b', to: 'gone' },
      { from: 'b', to: '__proto__' },
    ],
    'TB',
  );
  const y = Object.fromEntries(nodes.map((node) => [`n-${node.id}`, node.y]));
  expect(y['n-a']).toBeLessThan(y['n-b'] ?? 0);
  expect(y['n-b']).toBeLessThan(y['n-__proto__'] ?? 0);
  expect(edges.map(({ from, to }) => `${from} ${to}`)).toEqual(['a b', 'b a', 'b __proto__']);
  expect(height).toBeGreaterThan(0);
});
