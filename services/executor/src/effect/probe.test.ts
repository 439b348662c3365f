import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { ApprovalId } from '@holdpoint/contracts/values/ids';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import {
  about,
  decider,
  EFFECT,
  NOW,
  orderFor,
  slot,
  probeableOf,
  resolveFor,
} from '../../testing/orders.ts';
import type { EffectMessage, Finding } from './decide.ts';
import { LEASE_MS } from './timing.ts';

const given = specFor(decider);
const order = orderFor(probeableOf());
const claim: EffectMessage = { kind: 'claim', id: EFFECT, slot };
const lease: EffectMessage = { kind: 'timer', name: 'lease', data: null };
const found = (epoch: number, finding: Finding): EffectMessage => ({ kind: 'probed', epoch, finding });
const applied: Finding = { found: 'applied', reason: 'release 7 is live', outputs: { release: 7 } };
const notApplied: Finding = { found: 'not_applied', reason: 'release 6 is live' };
const unproven: Finding = { found: 'unproven', reason: 'release 6 is live, but a worker may be running' };
const unknown: Finding = { found: 'unknown', reason: 'no answer' };

const started = (epoch: number, journal?: string): EffectEvent => ({
  type: 'started',
  ...about,
  order,
  epoch,
  worker: 'worker-1',
  journal,
});
const doubt = (
  epoch: number,
  next: 'probe' | 'person' = 'probe',
  cause: 'worker_lost' | 'outcome_unknown' | 'ledger_set_back' = 'worker_lost',
): EffectEvent => ({ type: 'in_doubt', ...about, epoch, reason: 'lost', next, cause });
const seen = (epoch: number, { found: what, reason }: Finding): EffectEvent => ({
  type: 'probed',
  ...about,
  epoch,
  found: what,
  reason,
});
const settledAt = (epoch: number, by: 'probe' | 'person'): EffectEvent => ({
  type: 'not_applied',
  ...about,
  epoch,
  reason: 'release 6 is live',
  by,
});
const allowed = (epoch: number): EffectEvent => ({
  type: 'answered',
  ...about,
  epoch,
  answer: 'retry',
  by: 'ada',
  approval: ApprovalId.parse('a-1'),
  until: NOW + 60_000,
});
/** Probed this often, each time with an unproven no. */
const unprovenTimes = (times: number): readonly EffectEvent[] => [
  started(1, 'j-1'),
  doubt(2),
  ...Array.from({ length: times }, (_, i) => [seen(2 + i, unproven), doubt(3 + i)]).flat(),
];

describe('probing an effect in doubt', () => {
  test('a probeable effect is probed without a lease, and not repeated', () => {
    given(started(1, 'j-1'))
      .when(lease, NOW + LEASE_MS)
      .thenEmitsLike({ type: 'in_doubt', epoch: 2, next: 'probe', cause: 'worker_lost' })
      .thenTimes({ clear: 'lease' }, { set: 'slot', dueAt: NOW + LEASE_MS + 1_000 });
    given(started(1, 'j-1'), doubt(2))
      .when({ kind: 'timer', name: 'slot', data: null }, NOW)
      .thenTimes({ set: 'slot', dueAt: NOW + 5_000 })
      .thenStarts({ kind: 'await_slot', order });
    given(started(1, 'j-1'), doubt(2))
      .when(claim, NOW)
      .thenEmits()
      // The probing executor may crash: then the probe is repeated.
      .thenTimes({ set: 'slot', dueAt: NOW + 120_000 })
      .thenStarts({
        kind: 'probe',
        order,
        epoch: 2,
        slot: slot.slot,
        unended: [{ epoch: 1, journal: 'j-1' }],
      });
  });

  test('a probe needs no valid grant', () => {
    given(started(1), doubt(2))
      .when(claim, NOW + 1_000 * 3_600_000)
      .thenStarts({ kind: 'probe', order, epoch: 2, slot: slot.slot, unended: [{ epoch: 1 }] });
  });
});

describe('lost starts of an effect', () => {
  const probe = { kind: 'probe', order, slot: slot.slot } as const;

  test('a worker that reports an unknown outcome is not lost', () => {
    given(started(1, 'j-1'), doubt(2, 'probe', 'outcome_unknown'))
      .when(claim, NOW)
      .thenStarts({
        ...probe,
        epoch: 2,
        unended: [],
      });
  });

  test("a lost start stays open after an operator's retry", () => {
    given(
      started(1, 'j-1'),
      doubt(2, 'person'),
      allowed(2),
      started(3, 'j-2'),
      doubt(4, 'probe', 'outcome_unknown'),
    )
      .when(claim, NOW)
      .thenStarts({ ...probe, epoch: 4, unended: [{ epoch: 1, journal: 'j-1' }] });
  });

  test('a lost start stays open after an operator\'s "not applied"', () => {
    given(started(1, 'j-1'), doubt(2, 'person'), settledAt(2, 'person'), started(3, 'j-2'), doubt(4))
      .when(claim, NOW)
      .thenStarts({
        ...probe,
        epoch: 4,
        unended: [
          { epoch: 1, journal: 'j-1' },
          { epoch: 3, journal: 'j-2' },
        ],
      });
  });

  test('a proven probe closes lost starts', () => {
    given(started(1, 'j-1'), doubt(2), settledAt(2, 'probe'), started(3, 'j-2'), doubt(4))
      .when(claim, NOW)
      .thenStarts({
        ...probe,
        epoch: 4,
        unended: [{ epoch: 3, journal: 'j-2' }],
      });
  });

  test('a late report closes a lost start', () => {
    given(started(1, 'j-1'), doubt(2), {
      type: 'superseded',
      ...about,
      epoch: 1,
      observed: 'failed_clean',
    })
      .when(claim, NOW)
      .thenStarts({ ...probe, epoch: 2, unended: [] });
  });

  test('a start that the ledger lost is open, without a journal', () => {
    given(started(1, 'j-1'), doubt(4, 'probe', 'ledger_set_back'))
      .when(claim, NOW)
      .thenStarts({
        ...probe,
        epoch: 4,
        unended: [{ epoch: 1, journal: 'j-1' }, { epoch: 3 }],
      });
  });
});

describe('results of a probe', () => {
  test('an applied result is recorded with its outputs', () => {
    given(started(1), doubt(2))
      .when(found(2, applied), NOW)
      .thenEmits(seen(2, applied), { type: 'applied', ...about, epoch: 2, outputs: { release: 7 } })
      .thenTimes({ clear: 'slot' });
  });

  test('an applied result without outputs is recorded', () => {
    given(started(1), doubt(2))
      .when(found(2, { found: 'applied', reason: 'it is there' }), NOW)
      .thenEmitsLike({ type: 'probed' }, { type: 'applied', outputs: {} });
  });

  test('a proven not-applied result is recorded, and a later attempt may begin', () => {
    given(started(1), doubt(2))
      .when(found(2, notApplied), NOW)
      .thenEmits(seen(2, notApplied), settledAt(2, 'probe'))
      .thenTimes({ clear: 'slot' })
      .thenStarts();
    given(started(1), doubt(2), seen(2, notApplied), settledAt(2, 'probe'))
      .when({ kind: 'run', payload: { ...order, attempt: 2 }, slot }, NOW)
      .thenEmitsLike({ type: 'started', attempt: 2, epoch: 3 });
  });

  test('an unproven not-applied result is probed again later', () => {
    given(started(1), doubt(2))
      .when(found(2, unproven), NOW)
      .thenEmits(seen(2, unproven), {
        type: 'in_doubt',
        ...about,
        epoch: 3,
        reason: `lost; probe: ${unproven.reason}`,
        next: 'probe',
        cause: 'worker_lost',
      })
      .thenTimes({ clear: 'lease' }, { set: 'slot', dueAt: NOW + 2_000 })
      .thenStarts();
  });

  test.each([
    [3, 'probe'],
    [4, 'person'],
  ] as const)('after %i unproven not-applied results the next step is %s', (times, next) => {
    given(...unprovenTimes(times))
      .when(found(2 + times, unproven), NOW)
      .thenEmitsLike({ type: 'probed' }, { type: 'in_doubt', epoch: 3 + times, next });
  });

  test('an unknown result goes to an operator', () => {
    given(started(1), doubt(2))
      .when(found(2, unknown), NOW)
      .thenEmitsLike(
        { type: 'probed', found: 'unknown' },
        {
          type: 'in_doubt',
          epoch: 3,
          reason: 'lost; probe: no answer',
          next: 'person',
        },
      )
      .thenTimes({ clear: 'lease' }, { clear: 'slot' });
  });

  test('a long reason is cut', () => {
    const long: Finding = { found: 'unproven', reason: 'x'.repeat(5_000) };
    given(started(1), doubt(2))
      .when(found(2, long), NOW)
      .thenEmitsLike({ type: 'probed', reason: 'x'.repeat(2_000) }, { type: 'in_doubt', next: 'probe' });
  });
});

describe('results for a doubt that is over', () => {
  test.each([
    ['it was not ordered', []],
    ['it has not started', [{ type: 'prepared', ...about, order }]],
    ['it runs', [started(1)]],
    ['its doubt is newer', [started(1), doubt(2), seen(2, unproven), doubt(3)]],
    ['an operator decides', [started(1), doubt(2, 'person')]],
    ['it is repeated', [started(1), doubt(2, 'person'), allowed(2), started(3)]],
    ['it is applied', [started(1), doubt(2), { type: 'applied', ...about, epoch: 2, outputs: {} }]],
    ['it is not applied', [started(1), doubt(2), settledAt(2, 'probe')]],
  ] as const)('a late result changes nothing: %s', (_, history) => {
    for (const finding of [applied, notApplied, unproven, unknown])
      given(...history)
        .when(found(2, finding), NOW)
        .thenNothing();
  });
});

describe('events during a probe', () => {
  test('a late "applied" of a worker resolves the doubt during a probe', () => {
    given(started(1), doubt(2))
      .when({ kind: 'outcome', epoch: 1, outcome: { kind: 'applied', outputs: {} } }, NOW)
      .thenEmitsLike({ type: 'superseded', epoch: 1, observed: 'applied' }, { type: 'applied', epoch: 2 })
      .thenTimes({ clear: 'slot' });
  });

  test('an operator cannot answer an effect that is being probed', () => {
    given(started(1), doubt(2))
      .when({ kind: 'resolve', payload: resolveFor('not_applied', 2, probeableOf()) }, NOW)
      .thenEmits()
      .thenSends({ data: { type: 'in_doubt', epoch: 2, next: 'probe' } });
  });
});
