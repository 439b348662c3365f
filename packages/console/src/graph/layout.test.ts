import { expect, test } from 'vitest';
import { placed } from './layout.ts';

test('successors are drawn below, and routes that lead back or nowhere are harmless', () => {
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

test('parallel steps are drawn side by side', () => {
  const edges = [
    ['a', 'b'],
    ['b', 'c'],
    ['b', 'd'],
    ['c', 'e'],
    ['d', 'e'],
  ].map(([from = '', to = '']) => ({ from, to }));
  const { nodes, edges: drawn } = placed(['a', 'b', 'c', 'd', 'e'], edges, 'TB');
  const y = Object.fromEntries(nodes.map((node) => [node.id, node.y]));
  expect(y['c']).toBe(y['d']);
  expect(drawn.every(({ points }) => points.length > 1)).toBe(true);
});
