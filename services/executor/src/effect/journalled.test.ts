import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import { about, decider, effectOf, forgedGrantFor, NOW, orderFor, slot } from '../../testing/orders.ts';
import type { EffectMessage } from './decide.ts';

const given = specFor(decider);
const order = orderFor();
const opaque = orderFor(effectOf({ uses: 'cap.http.request', effectClass: 'opaque' }));
const journalled = (epoch: number, which: RunEffect = order): EffectMessage => ({
  kind: 'journalled',
  order: which,
  epoch,
});

const prepared = (which: RunEffect = order): EffectEvent => ({ type: 'prepared', ...about, order: which });
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
  reason: 'started before the database was restored, and its outcome is lost',
  next,
  cause: 'ledger_set_back',
});
const applied = (epoch: number): EffectEvent => ({ type: 'applied', ...about, epoch, outputs: {} });
const failed = (epoch: number): EffectEvent => ({
  type: 'failed_clean',
  ...about,
  epoch,
  error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'busy' },
});
const notApplied = (epoch: number): EffectEvent => ({
  type: 'not_applied',
  ...about,
  epoch,
  reason: 'reported by ada',
  by: 'person',
});
const calledOff: EffectEvent = { type: 'cancel_requested', ...about, reason: 'over' };
const cancelled: EffectEvent = { type: 'cancelled', ...about, reason: 'over' };
const follows = [{ clear: 'lease' }, { set: 'slot', dueAt: NOW + 2_000 }] as const;

describe('a journalled start that the ledger lost', () => {
  test('a start that the ledger never knew is in doubt above its epoch, and is repeated where that is harmless', () => {
    given()
      .when(journalled(3), NOW)
      .thenEmits(prepared(), doubt(4))
      .thenTimes(...follows)
      .thenStarts();
  });

  test('a start that the ledger never knew goes to an operator if its target remembers nothing', () => {
    given()
      .when(journalled(1, opaque), NOW)
      .thenEmits({ ...prepared(opaque), order: opaque } as EffectEvent, doubt(2, 'person'))
      .thenTimes({ clear: 'lease' }, { clear: 'slot' })
      .thenStarts();
  });

  test('a start of an effect that still waits in the ledger is in doubt', () => {
    given(prepared()).when(journalled(1), NOW).thenEmits(doubt(2));
  });

  test("a start above the ledger's epoch is in doubt above its own", () => {
    given(started(1))
      .when(journalled(3), NOW)
      .thenEmits(doubt(4))
      .thenTimes(...follows);
    given(started(1), doubt(2)).when(journalled(3), NOW).thenEmits(doubt(4));
  });

  test('a start that the ledger has as failed or refused is in doubt as last ordered', () => {
    const again = { ...order, attempt: 2 };
    given(started(1), failed(1))
      .when(journalled(2, again), NOW)
      .thenEmitsLike({ type: 'prepared', attempt: 2 }, { type: 'in_doubt', attempt: 2, epoch: 3 });
    const forged = { ...order, grant: forgedGrantFor(effectOf()) };
    given({ type: 'refused', ...about, order: forged, error: { code: 'X', message: 'no' } })
      .when(journalled(1), NOW)
      .thenEmits(prepared(), doubt(2));
  });

  test('a start that the ledger has as cancelled is in doubt, stays cancelled, and is not repeated', () => {
    const found = [prepared(), calledOff, doubt(2, 'person')];
    given(cancelled)
      .when(journalled(1), NOW)
      .thenEmits(...found)
      .thenStarts();
    given(prepared(), cancelled)
      .when(journalled(1), NOW)
      .thenEmits(...found);
    given(cancelled, ...found, notApplied(2))
      .when({ kind: 'run', payload: { ...order, attempt: 2 }, slot }, NOW)
      .thenEmitsLike({ type: 'cancelled', attempt: 2 })
      .thenStarts();
  });

  test('a start that the ledger has as not applied is in doubt again', () => {
    given(started(1), doubt(2, 'person'), notApplied(2))
      .when(journalled(3), NOW)
      .thenEmits(prepared(), doubt(4));
  });

  test('a start whose effect is being cancelled is not repeated', () => {
    given(started(1), calledOff).when(journalled(3), NOW).thenEmits(doubt(4, 'person'));
  });

  test('a start that the ledger knows changes nothing', () => {
    for (const history of [
      [started(1)],
      [started(1), applied(1)],
      [started(1), failed(1)],
      [started(1), doubt(2)],
      [started(1), doubt(2), started(3)],
    ])
      given(...history)
        .when(journalled(1), NOW)
        .thenNothing();
  });

  test('a start above an applied epoch is evidence of another run', () => {
    given(started(1), applied(1))
      .when(journalled(3), NOW)
      .thenEmits({ type: 'superseded', ...about, epoch: 3, observed: 'journalled' });
  });
});

test('a late report of the lost start resolves the doubt', () => {
  given(prepared(), doubt(2, 'person'))
    .when({ kind: 'outcome', epoch: 1, outcome: { kind: 'applied', outputs: {} } }, NOW)
    .thenEmits({ type: 'superseded', ...about, epoch: 1, observed: 'applied' }, applied(2));
});

test('an order after it finds the doubt, and starts nothing', () => {
  given(prepared(), doubt(2, 'person'))
    .when({ kind: 'run', payload: { ...order, attempt: 2 }, slot }, NOW)
    .thenEmits()
    .thenStarts()
    .thenSends({ data: { type: 'in_doubt', attempt: 2, next: 'person' } });
});
