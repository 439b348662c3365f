import type { EffectId } from '@holdpoint/contracts/values/ids';
import { expect, test } from 'vitest';
import { createMatching, type Taker, type WaitingOrder } from './matching.ts';

const refund = { uses: 'cap.remote.refund', to: 'run' } as const;
const mail = { uses: 'cap.remote.mail', to: 'run' } as const;

const order = (
  id: string,
  task = 't-1',
  wanted: Pick<WaitingOrder, 'uses' | 'to'> = refund,
): WaitingOrder => ({
  ...wanted,
  id: id as EffectId,
  task,
  bytes: 10,
  grant: undefined,
});
const taker = (wants: Taker['wants'] = [refund], room = Infinity): Taker => ({
  wants,
  hasRoom: (bytes) => bytes <= room,
});

test('tasks take turns, and each keeps its order', () => {
  const matching = createMatching(100);
  for (const id of ['a1', 'a2', 'a3']) matching.add(order(id, 'a'));
  matching.add(order('b1', 'b'));
  const taken = Array.from({ length: 5 }, () => matching.takeFor(taker())?.id);
  expect(taken).toEqual(['a1', 'b1', 'a2', 'a3', undefined]);
});

test('a claim takes only orders of its labels, of its kind, and of a size that fits', () => {
  const matching = createMatching(100);
  matching.add(order('m', 't-1', mail));
  matching.add(order('p', 't-1', { ...refund, to: 'probe' }));
  expect(matching.takeFor(taker())).toBeUndefined();
  expect(matching.takeFor(taker([mail], 9))).toBeUndefined();
  expect(matching.takeFor(taker([mail]))?.id).toBe('m');
  expect(matching.takeFor(taker([{ ...refund, to: 'probe' }]))?.id).toBe('p');
});

test('an order is in the queue once, and a full queue keeps its orders', () => {
  const matching = createMatching(2);
  for (const id of ['a', 'a', 'b', 'c']) matching.add(order(id));
  expect(matching.waiting()).toBe(2);
  matching.takeFor(taker());
  matching.add(order('c'));
  expect([matching.takeFor(taker())?.id, matching.takeFor(taker())?.id]).toEqual(['b', 'c']);
});

test('the claim that waits longest is served first, and none after it has left', () => {
  const matching = createMatching<Taker>(100);
  const [first, second, full] = [taker(), taker(), taker([refund], 0)];
  for (const claim of [full, first, second]) matching.join(claim);
  expect(matching.claimFor(order('a'))).toBe(first);
  matching.leave(first);
  expect(matching.claimFor(order('a'))).toBe(second);
  matching.leave(second);
  expect(matching.claimFor(order('a'))).toBeUndefined();
});
