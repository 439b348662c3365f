import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import { about, decider, EFFECT, effectOf, GRANT_ENDS, NOW, orderFor, slot } from '../../testing/orders.ts';
import type { EffectMessage, Outcome } from './decide.ts';
import { LEASE_MS } from './timing.ts';

const given = specFor(decider);
const order = orderFor();
const applied: Outcome = { kind: 'applied', outputs: { line: 1 } };
const clean: Outcome = {
  kind: 'failed_clean',
  error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'busy' },
};
const unknown: Outcome = { kind: 'unknown', reason: 'connection reset' };
const reported = (epoch: number, outcome: Outcome): EffectMessage => ({ kind: 'outcome', epoch, outcome });
const lease: EffectMessage = { kind: 'timer', name: 'lease', data: null };
const claim: EffectMessage = { kind: 'claim', id: EFFECT, slot };

const started = (epoch: number): EffectEvent => ({
  type: 'started',
  ...about,
  order,
  epoch,
  worker: 'worker-1',
});
const doubt = (epoch: number, next: 'repeat' | 'person' = 'repeat'): EffectEvent => ({
  type: 'in_doubt',
  ...about,
  epoch,
  reason: 'connection reset',
  next,
  cause: 'outcome_unknown',
});
const appliedAt = (epoch: number): EffectEvent => ({
  type: 'applied',
  ...about,
  epoch,
  outputs: { line: 1 },
});
const failedAt = (epoch: number): EffectEvent => ({
  type: 'failed_clean',
  ...about,
  epoch,
  error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'busy' },
});
const notApplied: EffectEvent = {
  type: 'not_applied',
  ...about,
  epoch: 2,
  reason: 'reported by ada',
  by: 'person',
};
const cancelled: EffectEvent = { type: 'cancelled', ...about, reason: 'over' };
const repeats = (starts: number): EffectEvent[] =>
  Array.from({ length: starts }, (_, i) => [started(2 * i + 1), doubt(2 * i + 2)]).flat();

describe('the outcome of the present start', () => {
  test('an applied outcome is recorded', () => {
    given(started(1)).when(reported(1, applied), NOW).thenEmits(appliedAt(1)).thenTimes({ clear: 'lease' });
  });

  test('a clean failure is recorded', () => {
    given(started(1))
      .when(reported(1, clean), NOW)
      .thenEmitsLike({ type: 'failed_clean', epoch: 1, error: { code: 'EXECUTOR_TARGET_UNAVAILABLE' } })
      .thenTimes({ clear: 'lease' })
      .thenStarts();
  });

  test('an unknown outcome is a doubt, and a harmless effect is repeated', () => {
    given(started(1))
      .when(reported(1, unknown), NOW)
      .thenEmits(doubt(2))
      .thenTimes({ clear: 'lease' }, { set: 'slot', dueAt: NOW + 1_000 })
      .thenStarts();
  });

  test('a clean failure of a repeat keeps the doubt about the first start', () => {
    given(started(1), doubt(2), started(3))
      .when(reported(3, clean), NOW)
      .thenEmitsLike(
        { type: 'in_doubt', epoch: 4, reason: 'repeated without effect: busy', next: 'repeat' },
        { type: 'superseded', epoch: 3, observed: 'failed_clean' },
      )
      .thenTimes({ clear: 'lease' }, { set: 'slot', dueAt: NOW + 2_000 })
      .thenStarts();
  });

  test('an outcome of an unknown effect is ignored', () => {
    given().when(reported(1, applied), NOW).thenNothing();
    given({ type: 'cancelled', ...about, reason: 'over' })
      .when(reported(1, applied), NOW)
      .thenNothing();
  });
});

describe('leases', () => {
  test('a heartbeat of the present start extends the lease', () => {
    given(started(1))
      .when({ kind: 'heartbeat', epoch: 1 }, NOW + 3_000)
      .thenEmits()
      .thenTimes({ set: 'lease', dueAt: NOW + 3_000 + LEASE_MS });
  });

  test('a heartbeat of another epoch does not extend the lease', () => {
    given(started(1), doubt(2), started(3)).when({ kind: 'heartbeat', epoch: 1 }, NOW).thenNothing();
    given(started(1), doubt(2)).when({ kind: 'heartbeat', epoch: 1 }, NOW).thenNothing();
    given().when({ kind: 'heartbeat', epoch: 1 }, NOW).thenNothing();
  });

  test('an expired lease puts the effect in doubt under a new epoch', () => {
    given(started(1))
      .when(lease, NOW + LEASE_MS)
      .thenEmitsLike({ type: 'in_doubt', epoch: 2, next: 'repeat', cause: 'worker_lost' })
      .thenTimes({ clear: 'lease' }, { set: 'slot', dueAt: NOW + LEASE_MS + 1_000 });
  });

  test('a lease timer without a start is ignored', () => {
    given(started(1), appliedAt(1)).when(lease, NOW).thenNothing();
    given(started(1), doubt(2)).when(lease, NOW).thenNothing();
    given().when(lease, NOW).thenNothing();
  });
});

describe('repeats', () => {
  test('a repeat starts under the next epoch once it has a slot', () => {
    given(started(1), doubt(2))
      .when(claim, NOW + 1)
      .thenEmits(started(3))
      .thenStarts({ kind: 'start', order, epoch: 3, slot: slot.slot });
  });

  test('a repeat without a slot is offered again', () => {
    given(started(1), doubt(2))
      .when({ kind: 'timer', name: 'slot', data: null }, NOW)
      .thenTimes({ set: 'slot', dueAt: NOW + 5_000 })
      .thenStarts({ kind: 'await_slot', order });
  });

  test('repeats end with the grant, and an operator decides', () => {
    given(started(1), doubt(2))
      .when(claim, GRANT_ENDS)
      .thenEmits(doubt(3, 'person'))
      .thenTimes({ clear: 'lease' }, { clear: 'slot' })
      .thenStarts();
  });

  test.each([
    [4, 'repeat'],
    [5, 'person'],
  ] as const)('after %i starts without a certain outcome, the next step is: %s', (starts, next) => {
    const history = repeats(starts).slice(0, -1);
    given(...history)
      .when(lease, NOW)
      .thenEmitsLike({ type: 'in_doubt', epoch: 2 * starts, next });
    given(...history)
      .when(reported(2 * starts - 1, unknown), NOW)
      .thenEmitsLike({ next });
  });

  // Not every class is that of a capability which these orders could name, so they stand in the history.
  test.each([
    ['idempotent', 'repeat'],
    ['fenced', 'repeat'],
    ['probeable', 'probe'],
    ['opaque', 'person'],
  ] as const)('an effect that is %s is followed by: %s', (effectClass, next) => {
    const other = { ...started(1), order: orderFor(effectOf({ effectClass })) } as EffectEvent;
    given(other).when(lease, NOW).thenEmitsLike({ type: 'in_doubt', next });
  });

  test('an effect that waits for an operator is not repeated', () => {
    const history = [started(1), doubt(2, 'person')];
    given(...history)
      .when(claim, NOW)
      .thenNothing();
    given(...history)
      .when({ kind: 'timer', name: 'slot', data: null }, NOW)
      .thenNothing();
  });

  test('a finished effect is not repeated', () => {
    given(started(1), appliedAt(1)).when(claim, NOW).thenNothing();
    given(started(1)).when(claim, NOW).thenNothing();
    given().when(claim, NOW).thenNothing();
  });
});

describe('a worker whose epoch is over', () => {
  test.each([
    ['while a repeat runs', [started(1), doubt(2), started(3)]],
    ['after the repeat was applied', [started(1), doubt(2), started(3), appliedAt(3)]],
  ])('a late worker leaves evidence %s, and changes nothing', (_, history) => {
    given(...history)
      .when(reported(1, applied), NOW)
      .thenEmits({ type: 'superseded', ...about, epoch: 1, observed: 'applied' })
      .thenTimes()
      .thenSends()
      .thenStarts();
  });

  test('a late clean failure is evidence, and keeps the doubt about other starts', () => {
    given(started(1), doubt(2))
      .when(reported(1, clean), NOW)
      .thenEmits({ type: 'superseded', ...about, epoch: 1, observed: 'failed_clean' });
  });

  test('a late unknown outcome is ignored', () => {
    given(started(1), doubt(2)).when(reported(1, unknown), NOW).thenNothing();
    given(started(1), doubt(2), started(3)).when(reported(1, unknown), NOW).thenNothing();
  });

  test.each(['repeat', 'person'] as const)('a late "applied" resolves a doubt that waits for: %s', (next) => {
    given(started(1), doubt(2, next))
      .when(reported(1, applied), NOW)
      .thenEmits({ type: 'superseded', ...about, epoch: 1, observed: 'applied' }, appliedAt(2))
      .thenTimes({ clear: 'slot' });
  });

  test.each([
    ['a clean failure and a running later attempt', [started(1), failedAt(1), started(2)]],
    ['an operator\'s "not applied"', [started(1), doubt(2, 'person'), notApplied]],
    ['the start of a later attempt', [started(1), doubt(2, 'person'), notApplied, started(3)]],
    ['a cancellation', [started(1), doubt(2, 'person'), notApplied, cancelled]],
  ])('a late "applied" after %s contradicts the recorded outcome', (_, history) => {
    given(...history)
      .when(reported(1, applied), NOW)
      .thenEmits({ type: 'superseded', ...about, epoch: 1, observed: 'applied', contradicts: true })
      .thenStarts();
  });

  test('a late "applied" resolves a later doubt, and contradicts the recorded outcome', () => {
    given(started(1), doubt(2, 'person'), notApplied, started(3), doubt(4, 'person'))
      .when(reported(1, applied), NOW)
      .thenEmits(
        { type: 'superseded', ...about, epoch: 1, observed: 'applied', contradicts: true },
        appliedAt(4),
      );
  });

  test('a late clean failure of the only start contradicts an operator\'s "applied"', () => {
    const evidence = { type: 'superseded', ...about, epoch: 1, observed: 'failed_clean' } as const;
    given(started(1), doubt(2, 'person'), appliedAt(2))
      .when(reported(1, clean), NOW)
      .thenEmits({ ...evidence, contradicts: true });
    given(started(1), doubt(2), started(3), doubt(4, 'person'), appliedAt(4))
      .when(reported(1, clean), NOW)
      .thenEmits(evidence);
    const found = { type: 'in_doubt', ...about, epoch: 6, reason: 'lost', next: 'person' } as const;
    given(started(1), { ...found, cause: 'ledger_set_back' }, appliedAt(6))
      .when(reported(1, clean), NOW)
      .thenEmits(evidence);
  });

  test('a late report is recorded once', () => {
    const evidence: EffectEvent = { type: 'superseded', ...about, epoch: 1, observed: 'failed_clean' };
    given(started(1), doubt(2), started(3), evidence).when(reported(1, applied), NOW).thenNothing();
  });

  test('a report of a future epoch is ignored', () => {
    given(started(1)).when(reported(2, applied), NOW).thenNothing();
    given(started(1), doubt(2)).when(reported(2, applied), NOW).thenNothing();
  });
});
