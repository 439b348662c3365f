import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { ApprovalId } from '@holdpoint/contracts/values/ids';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  about,
  bareOrderFor,
  decider,
  effectOf,
  NOW,
  orderFor,
  probeableOf,
  workOf,
} from '../../testing/orders.ts';
import type { EffectMessage } from './decide.ts';
import { DEFAULT_TIMING } from './timing.ts';
import { entryIn } from './state.ts';

const given = specFor(decider);
const lease: EffectMessage = { kind: 'timer', name: 'lease', data: null };
const interrupted = (epoch: number): EffectMessage => ({
  kind: 'outcome',
  epoch,
  outcome: { kind: 'unknown', reason: 'it was interrupted' },
});
const KINDS = [
  ['work', bareOrderFor(workOf())],
  ['keyed', orderFor()],
  ['fenced', orderFor(effectOf({ uses: 'cap.file.write', effectClass: 'fenced' }))],
] as const;

type Cause = 'worker_lost' | 'outcome_unknown';
type EffectStarted = Extract<EffectEvent, { type: 'started' }>;
const started = (order: ReturnType<typeof orderFor>, epoch: number): EffectStarted => ({
  type: 'started',
  ...about,
  attempt: order.attempt,
  order,
  epoch,
  worker: 'worker-1',
});
const doubt = (epoch: number, cause: Cause, next: 'repeat' | 'probe' | 'person' = 'repeat'): EffectEvent => ({
  type: 'in_doubt',
  ...about,
  epoch,
  reason: 'lost',
  next,
  cause,
});
/** Starts that ended so, and one more under way. */
const after = (order: ReturnType<typeof orderFor>, ...causes: readonly Cause[]): readonly EffectEvent[] => [
  ...causes.flatMap((cause, i) => [started(order, 2 * i + 1), doubt(2 * i + 2, cause)]),
  started(order, 2 * causes.length + 1),
];

describe.each(KINDS)('an order of the class %s', (_, order) => {
  test('an order that loses its third worker goes to an operator', () => {
    given(...after(order, 'worker_lost'))
      .when(lease, NOW)
      .thenEmitsLike({ type: 'in_doubt', next: 'repeat', cause: 'worker_lost' });
    given(...after(order, 'worker_lost', 'worker_lost'))
      .when(lease, NOW)
      .thenEmitsLike({ type: 'in_doubt', next: 'person', cause: 'worker_lost' });
    given(...after(order, 'worker_lost', 'outcome_unknown', 'worker_lost'))
      .when(lease, NOW)
      .thenEmitsLike({ type: 'in_doubt', next: 'person' });
  });

  test('an interruption by a stopping executor is no lost worker', () => {
    given(...after(order, 'outcome_unknown', 'outcome_unknown', 'outcome_unknown'))
      .when(lease, NOW)
      .thenEmitsLike({ type: 'in_doubt', next: 'repeat' });
    given(...after(order, 'worker_lost', 'worker_lost'))
      .when(interrupted(5), NOW)
      .thenEmitsLike({ type: 'in_doubt', next: 'repeat', cause: 'outcome_unknown' });
  });

  test("an operator's retry runs once, and goes back to the operator when its worker is lost", () => {
    const allowed: EffectEvent = {
      type: 'answered',
      ...about,
      epoch: 6,
      answer: 'retry',
      by: 'ada',
      approval: ApprovalId.parse('a-1'),
      until: NOW + 60_000,
    };
    given(
      ...after(order, 'worker_lost', 'worker_lost'),
      doubt(6, 'worker_lost', 'person'),
      allowed,
      started(order, 7),
    )
      .when(lease, NOW)
      .thenEmitsLike({ type: 'in_doubt', next: 'person' });
  });
});

test('another attempt counts its lost workers from zero', () => {
  const order = orderFor();
  const error = { code: 'X', message: 'no' };
  const failed: EffectEvent = { type: 'failed_clean', ...about, epoch: 5, error };
  const second = started(orderFor(effectOf(), { attempt: 2 }), 6);
  given(...after(order, 'worker_lost', 'worker_lost'), failed, second)
    .when(lease, NOW)
    .thenEmitsLike({ type: 'in_doubt', next: 'repeat' });
});

test('a probeable effect is probed after every lost worker', () => {
  const order = orderFor(probeableOf());
  given(
    started(order, 1),
    doubt(2, 'worker_lost', 'probe'),
    started(order, 3),
    doubt(4, 'worker_lost', 'probe'),
    started(order, 5),
  )
    .when(lease, NOW)
    .thenEmitsLike({ type: 'in_doubt', next: 'probe' });
});

test('a doubt that is only stated again counts no lost worker', () => {
  const order = orderFor();
  const history = [started(order, 1), doubt(2, 'worker_lost'), doubt(3, 'worker_lost', 'person')];
  const state = history.reduce((before, event) => decider.evolve(before, event), decider.initial);
  expect(entryIn(state)?.lost).toBe(1);
  const { lost: _, ...old } = entryIn(state) ?? {};
  const kept = { ...state, entry: old } as typeof state;
  const next = [started(order, 4), doubt(5, 'worker_lost')].reduce(
    (before, event) => decider.evolve(before, event),
    kept,
  );
  expect(entryIn(next)?.lost).toBe(1);
});

describe('a start whose journal has a new owner', () => {
  const abandoned: EffectMessage = { kind: 'abandoned', epoch: 1, journal: 'journal-1' };
  const begun = (order = orderFor(), change: Partial<EffectStarted> = {}): EffectEvent => ({
    ...started(order, 1),
    journal: 'journal-1',
    ...change,
  });

  test.each(KINDS)('ends at once for the class %s, because a repeat does no harm', (_, order) => {
    given(begun(order))
      .when(abandoned, NOW)
      .thenEmitsLike({ type: 'in_doubt', epoch: 2, next: 'repeat', cause: 'worker_lost' })
      .thenTimes({ clear: 'lease' }, { set: 'slot', dueAt: NOW + DEFAULT_TIMING.firstRepeatMs });
  });

  const remote = { claimant: 'c', x: 'x', claim: 'c-1', principal: 'p', leaseMs: 30_000, since: NOW };
  const opaque = effectOf({ uses: 'cap.http.request', effectClass: 'opaque' });
  test.each([
    ['a probeable target may still get its request', begun(orderFor(probeableOf()))],
    ['a person decides about an opaque one', begun(orderFor(opaque))],
    ['a claimant carries it out', begun(orderFor(), { remote })],
    ['another executor began it', begun(orderFor(), { journal: 'journal-2' })],
    ['a later start is under way', begun(orderFor(), { epoch: 3 })],
  ])('keeps its lease when %s', (_, event) => {
    given(event).when(abandoned, NOW).thenNothing();
  });

  test('keeps its lease when its third worker is lost', () => {
    const lost = after(orderFor(), 'worker_lost', 'worker_lost').slice(0, -1);
    given(...lost, begun(orderFor(), { epoch: 5 }))
      .when({ ...abandoned, epoch: 5 }, NOW)
      .thenNothing();
    given(...lost.slice(2), begun(orderFor(), { epoch: 5 }))
      .when({ ...abandoned, epoch: 5 }, NOW)
      .thenEmitsLike({ type: 'in_doubt', next: 'repeat' });
  });
});
