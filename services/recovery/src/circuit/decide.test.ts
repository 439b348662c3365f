import type { ReportCircuit, SetCircuit } from '@holdpoint/contracts/recovery/circuit';
import { circuitIdOf } from '@holdpoint/contracts/values/ids';
import { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf } from '@holdpoint/runtime/testing/run';
import { historyOf, specFor } from '@holdpoint/runtime/testing/spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CircuitMessage, createCircuitDecider, TRIAL_MS } from './decide.ts';

const OPEN_MS = 5_000;
const decider = createCircuitDecider({ openMs: OPEN_MS });
const given = specFor(decider);
const NOW = 1_000_000;
const target = 'https://api.example';
const id = circuitIdOf(target);

const report = (
  state: ReportCircuit['state'],
  executor = 'executor-1',
  reason = 'it cannot be reached',
): CircuitMessage => ({ kind: 'circuit_report', payload: { target, state, executor, reason } });
const set = (state: SetCircuit['state']): CircuitMessage => ({
  kind: 'set_circuit',
  payload: { target, state, reason: 'they move' },
  by: 'ada',
});
const timer: CircuitMessage = { kind: 'timer', name: 'circuit', data: null };
const after = (...messages: readonly CircuitMessage[]) =>
  historyOf(decider, ...messages.map((message) => [message, NOW] as const));

describe('a circuit', () => {
  test('a circuit opens after an executor’s report and sets a timer for the trial', () => {
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

  test('further reports leave an open circuit unchanged', () => {
    given(...after(report('open')))
      .when(report('open', 'executor-2'), NOW)
      .thenNothing();
  });

  test('a circuit becomes half open after its time, without a trial slot taken', () => {
    given(...after(report('open')))
      .when(timer, NOW + OPEN_MS)
      .thenEmits({ type: 'circuit_half_opened', id, target });
  });

  test('the first executor that asks gets the trial slot', () => {
    given(...after(report('open'), timer))
      .when(report('half_open', 'executor-2'), NOW)
      .thenEmits({ type: 'circuit_half_opened', id, target, executor: 'executor-2' })
      .thenTimes({ set: 'circuit', dueAt: NOW + TRIAL_MS });
    given(...after(report('open'), timer, report('half_open', 'executor-2')))
      .when(report('half_open', 'executor-1'), NOW)
      .thenNothing();
  });

  test('the trial slot is free again after its timeout', () => {
    given(...after(report('open'), timer, report('half_open', 'executor-2')))
      .when(timer, NOW + TRIAL_MS)
      .thenEmits({ type: 'circuit_half_opened', id, target });
  });

  test('an open circuit gives no trial slot before its time', () => {
    given(...after(report('open')))
      .when(report('half_open'), NOW)
      .thenNothing();
  });

  test('a trial closes the circuit or opens it again', () => {
    const trial = after(report('open'), timer, report('half_open'));
    given(...trial)
      .when(report('closed', 'executor-1', 'it answered'), NOW)
      .thenEmitsLike({ type: 'circuit_closed', by: 'executor-1', reason: 'it answered' });
    given(...trial)
      .when(report('open'), NOW + 1)
      .thenEmitsLike({ type: 'circuit_opened', until: NOW + 1 + OPEN_MS });
  });

  test('closing a circuit that never opened changes nothing', () => {
    given().when(report('closed'), NOW).thenNothing();
    given().when(timer, NOW).thenNothing();
  });
});

describe('a person', () => {
  test('a person holds a circuit open against any reports', () => {
    given().when(set('open'), NOW).thenEmitsLike({ type: 'circuit_opened', by: 'ada', reason: 'they move' });
    for (const found of [report('closed'), report('half_open'), report('open'), timer])
      given(...after(set('open')))
        .when(found, NOW)
        .thenNothing();
  });

  test('a person closes any circuit', () => {
    for (const history of [[report('open')], [set('open')], [report('open'), timer]] as const)
      given(...after(...history))
        .when(set('closed'), NOW)
        .thenEmitsLike({ type: 'circuit_closed', by: 'ada' });
  });

  test('a person takes over a circuit that an executor opened', () => {
    given(...after(report('open')))
      .when(set('open'), NOW)
      .thenEmitsLike({ type: 'circuit_opened', by: 'ada' });
  });
});

describe('any sequence of messages', () => {
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

  test('circuits satisfy the laws of a decider, and their events the contract', () => {
    fc.assert(
      fc.property(acts, (sequence) => {
        const events = eventsOf(holdsEveryLaw(decider, sequence));
        for (const event of events) expect(RecoveryEvent.parse(event)).toEqual(event);
      }),
    );
  });

  test('at most one executor has the trial slot, and none while a person holds the circuit open', () => {
    fc.assert(
      fc.property(acts, (sequence) => {
        for (const { before, made } of holdsEveryLaw(decider, sequence)) {
          const named = made.events.filter(
            (event) => event.type === 'circuit_half_opened' && event.executor !== undefined,
          );
          const mayBe = before !== undefined && !before.held && before.executor === undefined;
          expect(named.length).toBeLessThanOrEqual(mayBe ? 1 : 0);
        }
      }),
    );
  });
});
