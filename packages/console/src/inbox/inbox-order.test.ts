import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { expect, test } from 'vitest';
import { inOrder, withUpdate } from './inbox-order.ts';

const view = (id: string, rest: Partial<ApprovalView>): ApprovalView =>
  ({ id, status: 'pending', requestedAt: 0, expiresAt: 0, ...rest }) as ApprovalView;
const items = [
  view('a-1', { risk: 'low', requestedAt: 1, expiresAt: 9 }),
  view('a-2', { risk: 'high', requestedAt: 3, expiresAt: 8 }),
  view('a-3', { risk: 'high', requestedAt: 2, expiresAt: 7 }),
  view('a-4', { requestedAt: 4, expiresAt: 1 }),
];

test.each([
  ['risk', 'a-3 a-2 a-4 a-1'],
  ['oldest', 'a-1 a-3 a-2 a-4'],
  ['expiring', 'a-4 a-3 a-2 a-1'],
] as const)('sorting by %s yields %s', (order, ids) => {
  expect(
    inOrder(items, order)
      .map(({ id }) => id)
      .join(' '),
  ).toBe(ids);
});

test('an update replaces its request, and removes it once it is decided', () => {
  const voted = view('a-2', { risk: 'low' });
  expect(withUpdate(items, voted).find(({ id }) => id === 'a-2')).toBe(voted);
  expect(withUpdate(items, voted)).toHaveLength(4);
  expect(withUpdate(items, view('a-2', { status: 'rejected' })).map(({ id }) => id)).toEqual([
    'a-1',
    'a-3',
    'a-4',
  ]);
  expect(withUpdate(items, view('a-9', {}))).toHaveLength(5);
});
