import type { BatchWrite, StoredEvent } from '@holdpoint/runtime/engine/ports';
import { expect, test } from 'vitest';
import { orderFor } from '../../../testing/orders.ts';
import { createLedgerFence } from './ledger-fence.ts';

const event = (type: string): StoredEvent => ({
  kind: 'effect',
  aggregate: 'e-1',
  version: 1,
  type,
  at: 1,
  trace: undefined,
  body: '{}',
});
const writeOf = (...types: readonly string[]): BatchWrite => ({
  events: types.map(event),
  announced: [],
  timersSet: [],
  timersCleared: [],
  outbox: [],
  outboxConfirmed: [],
  snapshots: [],
  heads: [],
});

const fenceOf = () => {
  const noted: number[] = [];
  let [position, refusals] = [4, 0];
  const fence = createLedgerFence({
    id: 'here',
    position: () => position,
    reach: (reached) => void (position = Math.max(position, reached)),
    append: (_order, _epoch, at) => Promise.resolve(void noted.push(at)),
  });
  fence.onRefusal(() => void (refusals += 1));
  const commit = (answer: number): void => {
    fence.guard.statement(writeOf('started'));
    fence.guard.passed([{ position: String(answer) }]);
  };
  return { fence, noted, commit, refusals: () => refusals, position: () => position };
};
const order = orderFor();

test('only a batch with a start has to pass the fence', () => {
  const { fence } = fenceOf();
  fence.trust(2);
  expect(fence.guard.statement(writeOf('prepared', 'applied'))).toBeUndefined();
  expect(fence.guard.statement(writeOf('applied', 'started'))?.values).toEqual(['here', 2, 4]);
});

test('no start passes in a generation that was not compared', () => {
  const { fence } = fenceOf();
  expect(fence.guard.statement(writeOf('started'))?.values).toEqual(['here', -1, 4]);
});

test('a start is journalled at the position of its commit', async () => {
  const { fence, noted, commit, position } = fenceOf();
  fence.trust(2);
  commit(5);
  await fence.journalStart(order, 1);
  commit(9);
  await fence.journalStart(order, 1);
  expect(noted).toEqual([5, 9]);
  expect(position()).toBe(9);
});

test('a commit that is reported after a restore begins nothing', async () => {
  const { fence, noted, commit } = fenceOf();
  fence.trust(2);
  commit(5);
  // A restored ledger may reach the same generation a second time.
  for (const since of [undefined, 3, 2]) {
    fence.trust(since);
    await expect(fence.journalStart(order, 1)).rejects.toThrow('restored');
  }
  expect(noted).toEqual([]);
});

test('a refusal of the ledger is reported, and any other error is not a refusal', () => {
  const { fence, refusals } = fenceOf();
  expect(fence.guard.isRefusal(Object.assign(new Error('x'), { code: 'HP001' }))).toBe(true);
  expect(fence.guard.isRefusal(Object.assign(new Error('x'), { code: '57014' }))).toBe(false);
  expect(refusals()).toBe(1);
});
