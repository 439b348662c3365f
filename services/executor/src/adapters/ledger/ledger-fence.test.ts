import type { BatchWrite, StoredEvent } from '@holdpoint/runtime/engine/ports';
import { expect, test } from 'vitest';
import { orderFor } from '../../../testing/orders.ts';
import { createGate } from './ledger-fence.ts';

const event = (type: string): StoredEvent => ({
  aggregate: 'e-1',
  version: 1,
  type,
  at: 1,
  trace: undefined,
  body: '{}',
});
const writeOf = (...types: readonly string[]): BatchWrite => ({
  events: types.map(event),
  timersSet: [],
  timersCleared: [],
  outbox: [],
  outboxConfirmed: [],
  snapshots: [],
  heads: [],
});

const gateOf = () => {
  const noted: number[] = [];
  let [position, refusals] = [4, 0];
  const gate = createGate(
    {
      id: 'here',
      position: () => position,
      reach: (reached) => void (position = Math.max(position, reached)),
      append: (_order, _epoch, at) => Promise.resolve(void noted.push(at)),
    },
    () => void (refusals += 1),
  );
  const commit = (answer: number): void => {
    gate.condition.statement(writeOf('started'));
    gate.condition.met([{ position: String(answer) }]);
  };
  return { gate, noted, commit, refusals: () => refusals, position: () => position };
};
const order = orderFor();

test('only a batch that starts something has to pass', () => {
  const { gate } = gateOf();
  gate.vouchFor(2);
  expect(gate.condition.statement(writeOf('prepared', 'applied'))).toBeUndefined();
  expect(gate.condition.statement(writeOf('applied', 'started'))?.values).toEqual(['here', 2, 4]);
});

test('nothing passes in a generation that was not compared', () => {
  const { gate } = gateOf();
  expect(gate.condition.statement(writeOf('started'))?.values).toEqual(['here', -1, 4]);
});

test('a start is noted at the position of its commit', async () => {
  const { gate, noted, commit, position } = gateOf();
  gate.vouchFor(2);
  commit(5);
  await gate.note(order, 1);
  commit(9);
  await gate.note(order, 1);
  expect(noted).toEqual([5, 9]);
  expect(position()).toBe(9);
});

test('a commit that is told of after the ledger was set back begins nothing', async () => {
  const { gate, noted, commit } = gateOf();
  gate.vouchFor(2);
  commit(5);
  // The ledger may come to the same number a second time.
  for (const since of [undefined, 3, 2]) {
    gate.vouchFor(since);
    await expect(gate.note(order, 1)).rejects.toThrow('set back');
  }
  expect(noted).toEqual([]);
});

test('a refusal of the ledger is told, any other error is not ours', () => {
  const { gate, refusals } = gateOf();
  expect(gate.condition.unmet(Object.assign(new Error('x'), { code: 'HP001' }))).toBe(true);
  expect(gate.condition.unmet(Object.assign(new Error('x'), { code: '57014' }))).toBe(false);
  expect(refusals()).toBe(1);
});
