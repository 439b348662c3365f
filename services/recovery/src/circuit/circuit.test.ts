import type { ReportCircuit, SetCircuit } from '@holdpoint/contracts/recovery/circuit';
import { circuitIdOf } from '@holdpoint/contracts/values/ids';
import { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf } from '@holdpoint/runtime/testing/run';
import { historyOf, specFor } from '@holdpoint/runtime/testing/spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TRIAL_MS } from './circuit.ts';
import { createRecoveryDecider, isCircuit, type RecoveryMessage } from '../attempts/decide.ts';

const OPEN_MS = 5_000;
const decider = createRecoveryDecider({ openMs: OPEN_MS });
const given = specFor(decider);
const NOW = 1_000_000;
const target = 'https://api.example';
const id = circuitIdOf(target);

const report = (
  state: ReportCircuit['state'],
  executor = 'executor-1',
  reason = 'it cannot be reached',
): RecoveryMessage => ({ kind: 'circuit_report', payload: { target, state, executor, reason } });
const set = (state: SetCircuit['state']): RecoveryMessage => ({
  kind: 'set_circuit',
  payload: { target, state, reason: 'they move', by: 'ada' },
});
const timer: RecoveryMessage = { kind: 'timer', name: 'circuit', data: null };
const after = (...messages: readonly RecoveryMessage[]) =>
  historyOf(decider, ...messages.map((message) => [message, NOW] as const));

describe('a circuit', () => {
  test('opens when an executor has found that its target fails, and is due to be tried later', () => {
    given()
      .when(report('open'), NOW)
      .thenEmits({
        type: 'circuit_opened',
        id,
        target,
        reason: 'it cannot be reached',
        by: 'executor-1',
        until: NOW + OPEN_MS,
      })
      .thenTimes({ set: 'circuit', dueAt: NOW + OPEN_MS });
  });

  test('that is open is not opened again, however many find the same', () => {
    given(...after(report('open')))
      .when(report('open', 'executor-2'), NOW)
      .thenNothing();
  });

  test('is half open after its time, and nobody may try before he has asked', () => {
    given(...after(report('open')))
      .when(timer, NOW + OPEN_MS)
      .thenEmits({ type: 'circuit_half_opened', id, target });
  });

  test('that is half open lets the first try who asks, and no other', () => {
    given(...after(report('open'), timer))
      .when(report('half_open', 'executor-2'), NOW)
      .thenEmits({ type: 'circuit_half_opened', id, target, executor: 'executor-2' })
      .thenTimes({ set: 'circuit', dueAt: NOW + TRIAL_MS });
    given(...after(report('open'), timer, report('half_open', 'executor-2')))
      .when(report('half_open', 'executor-1'), NOW)
      .thenNothing();
  });

  test('gives somebody else a turn when whoever may try is not heard of', () => {
    given(...after(report('open'), timer, report('half_open', 'executor-2')))
      .when(timer, NOW + TRIAL_MS)
      .thenEmits({ type: 'circuit_half_opened', id, target });
  });

  test('that is open lets nobody try before its time', () => {
    given(...after(report('open')))
      .when(report('half_open'), NOW)
      .thenNothing();
  });

  test('closes when its target is there, and opens for as long again when it is not', () => {
    const trial = after(report('open'), timer, report('half_open'));
    given(...trial)
      .when(report('closed', 'executor-1', 'it answered'), NOW)
      .thenEmitsLike({ type: 'circuit_closed', by: 'executor-1', reason: 'it answered' });
    given(...trial)
      .when(report('open'), NOW + 1)
      .thenEmitsLike({ type: 'circuit_opened', until: NOW + 1 + OPEN_MS });
  });

  test('that was never open is closed: there is nothing to say', () => {
    given().when(report('closed'), NOW).thenNothing();
    given().when(timer, NOW).thenNothing();
  });
});

describe('a person', () => {
  test('opens a circuit for as long as he likes, whatever is found', () => {
    given().when(set('open'), NOW).thenEmitsLike({ type: 'circuit_opened', by: 'ada', reason: 'they move' });
    for (const found of [report('closed'), report('half_open'), report('open'), timer])
      given(...after(set('open')))
        .when(found, NOW)
        .thenNothing();
  });

  test('closes any circuit', () => {
    for (const history of [[report('open')], [set('open')], [report('open'), timer]] as const)
      given(...after(...history))
        .when(set('closed'), NOW)
        .thenEmitsLike({ type: 'circuit_closed', by: 'ada' });
  });

  test('keeps a circuit open that an executor has opened', () => {
    given(...after(report('open')))
      .when(set('open'), NOW)
      .thenEmitsLike({ type: 'circuit_opened', by: 'ada' });
  });
});

describe('whatever is found, said and waited for, in any order', () => {
  const message = fc.oneof(
    fc
      .tuple(fc.constantFrom('open', 'half_open', 'closed'), fc.constantFrom('executor-1', 'executor-2'))
      .map(([state, executor]) => report(state, executor)),
    fc.constantFrom('open' as const, 'closed' as const).map(set),
    fc.constant(timer),
  );
  const acts = fc.array(fc.record({ message, now: fc.integer({ min: NOW, max: NOW * 2 }) }), {
    maxLength: 25,
  });

  test('a circuit keeps every law of a decider, and its facts are those of the contract', () => {
    fc.assert(
      fc.property(acts, (sequence) => {
        const events = eventsOf(holdsEveryLaw(decider, sequence));
        for (const event of events) expect(RecoveryEvent.parse(event)).toEqual(event);
      }),
    );
  });

  test('one executor at the most may try, and none while a person holds the circuit open', () => {
    fc.assert(
      fc.property(acts, (sequence) => {
        for (const { before, made } of holdsEveryLaw(decider, sequence)) {
          const named = made.events.filter(
            (event) => event.type === 'circuit_half_opened' && event.executor !== undefined,
          );
          const mayBe = isCircuit(before) && !before.held && before.executor === undefined;
          expect(named.length).toBeLessThanOrEqual(mayBe ? 1 : 0);
        }
      }),
    );
  });
});
