import { RECOVERY_DEFAULTS } from '@holdpoint/contracts/workflow/recovery-rules';
import { type CircuitEvent, workflowCircuit } from '@holdpoint/contracts/recovery/circuit';
import { circuitIdOf, TaskId } from '@holdpoint/contracts/values/ids';
import { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf } from '@holdpoint/runtime/testing/run';
import { historyOf, specFor } from '@holdpoint/runtime/testing/spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { circuitDecider, type CircuitMessage, TASK_TRIAL_MS } from './decide.ts';

const given = specFor(circuitDecider);
const target = workflowCircuit('approve');
const id = circuitIdOf(target);
const NOW = 10_000_000;
const RULES = { failures: 3, windowMs: 60_000, coolDownMs: 30_000 };

const taskOf = (n: number): TaskId => TaskId.parse(`t-${String(n)}`);
const count = (n: number): CircuitMessage => ({
  kind: 'circuit_record_failure',
  payload: { target, task: taskOf(n), circuit: RULES },
});
const countPlainly = (n: number): CircuitMessage => ({
  kind: 'circuit_record_failure',
  payload: { target, task: taskOf(n) },
});
const enter = (n: number, ended?: 'succeeded' | 'failed'): CircuitMessage => ({
  kind: 'circuit_acquire',
  payload: { target, task: taskOf(n), ...(ended && { outcome: ended, circuit: RULES }) },
});
const coolDown: CircuitMessage = { kind: 'timer', name: 'circuit', data: null };
const set = (state: 'open' | 'closed'): CircuitMessage => ({
  kind: 'set_circuit',
  payload: { target, state },
  by: 'ada',
});
const admits = (n: number, answer: object) => ({
  subject: 'hp.cmd.task.circuit_state',
  data: { id: taskOf(n), circuit: target, ...answer },
});

const after = (...acts: readonly (readonly [CircuitMessage, number])[]) => historyOf(circuitDecider, ...acts);
const open = after([count(1), NOW], [count(2), NOW + 1], [count(3), NOW + 2]);
const halfOpen = [...open, { type: 'circuit_half_opened', id, target } satisfies CircuitEvent];
const trying = [
  ...halfOpen,
  { type: 'circuit_half_opened', id, target, executor: 'task:t-7' } satisfies CircuitEvent,
];

describe('stuck jobs of a workflow', () => {
  test('enough stuck jobs within the window open the workflow’s circuit', () => {
    given(...open.slice(0, 2))
      .when(count(3), NOW + 2)
      .thenEmitsLike(
        { type: 'circuit_failure_recorded', id, target, task: taskOf(3), at: NOW + 2 },
        { type: 'circuit_opened', id, target, by: 'recovery', until: NOW + 2 + RULES.coolDownMs },
      )
      .thenTimes({ set: 'circuit', dueAt: NOW + 2 + RULES.coolDownMs });
  });

  test('stuck jobs of one task count once', () => {
    given(...open.slice(0, 2))
      .when(count(2), NOW + 9)
      .thenNothing();
  });

  test('stuck jobs outside the window do not count', () => {
    given(...open.slice(0, 2))
      .when(count(3), NOW + RULES.windowMs + 1)
      .thenEmitsLike({ type: 'circuit_failure_recorded' })
      .thenTimes();
  });

  test('the default limits apply without settings of the repository', () => {
    const { failures } = RECOVERY_DEFAULTS.circuit;
    const all = Array.from({ length: failures }, (_, i) => [countPlainly(i), NOW] as const);
    expect(after(...all.slice(0, -1)).map(({ type }) => type)).not.toContain('circuit_opened');
    expect(after(...all).map(({ type }) => type)).toContain('circuit_opened');
  });

  test('stuck jobs change nothing while the circuit is open or held', () => {
    given(...open)
      .when(count(9), NOW + 3)
      .thenNothing();
    given(...after([set('open'), NOW]))
      .when(count(9), NOW + 3)
      .thenNothing();
  });
});

describe('a task that acquires the circuit', () => {
  test('a task may start while the circuit is closed', () => {
    given()
      .when(enter(7), NOW)
      .thenEmits()
      .thenSends(admits(7, { state: 'closed' }));
    given(...open)
      .when(enter(7), NOW)
      .thenEmits()
      .thenSends(admits(7, { state: 'open', until: NOW + 2 + RULES.coolDownMs }));
  });

  test('a task waits without a time limit while a person holds the circuit', () => {
    given(...after([set('open'), NOW]))
      .when(enter(7), NOW)
      .thenEmits()
      .thenSends({ data: { id: taskOf(7), circuit: target, state: 'open' } });
  });

  test('the first task after the open time gets the trial slot, and others wait', () => {
    given(...open)
      .when(coolDown, NOW)
      .thenEmitsLike({ type: 'circuit_half_opened' });
    given(...halfOpen)
      .when(enter(7), NOW)
      .thenEmitsLike({ type: 'circuit_half_opened', executor: 'task:t-7' })
      .thenSends(admits(7, { state: 'half_open' }))
      .thenTimes({ set: 'circuit', dueAt: NOW + TASK_TRIAL_MS });
    given(...trying)
      .when(enter(7), NOW)
      .thenEmits()
      .thenSends(admits(7, { state: 'half_open' }));
    given(...trying)
      .when(enter(8), NOW)
      .thenEmits()
      .thenSends(admits(8, { state: 'open' }));
  });

  test('another task gets the trial slot after its timeout', () => {
    given(...trying)
      .when(coolDown, NOW)
      .thenEmits({ type: 'circuit_half_opened', id, target });
  });
});

describe('a trial task', () => {
  test('a trial task that succeeds closes the circuit, one that fails opens it, and other tasks change nothing', () => {
    given(...trying)
      .when(enter(7, 'succeeded'), NOW)
      .thenEmitsLike({ type: 'circuit_closed', by: 'recovery' });
    given(...trying)
      .when(enter(7, 'failed'), NOW)
      .thenEmitsLike({ type: 'circuit_opened', until: NOW + RULES.coolDownMs });
    given(...trying)
      .when(enter(8, 'failed'), NOW)
      .thenNothing();
    given(...trying)
      .when(enter(8, 'succeeded'), NOW)
      .thenNothing();
  });

  test('a trial task that gives up its slot frees it for the next', () => {
    const left = (n: number): CircuitMessage => ({
      kind: 'circuit_acquire',
      payload: { target, task: taskOf(n), abandoned: true },
    });
    given(...trying)
      .when(left(7), NOW)
      .thenEmits({ type: 'circuit_half_opened', id, target })
      .thenSends()
      .thenTimes({ clear: 'circuit' });
    for (const history of [trying, halfOpen, open, []])
      given(...history)
        .when(left(8), NOW)
        .thenNothing();
  });

  test('a trial task that gets stuck opens the circuit at once', () => {
    given(...trying)
      .when(count(7), NOW + RULES.windowMs * 2)
      .thenEmitsLike(
        { type: 'circuit_failure_recorded' },
        { type: 'circuit_opened', reason: 'trial task t-7 got stuck' },
      );
  });
});

test('a circuit closed by a person starts counting again', () => {
  given(...open)
    .when(set('closed'), NOW)
    .thenEmitsLike({ type: 'circuit_closed', by: 'ada' });
  const closed = [...open, { type: 'circuit_closed', id, target, by: 'ada' } satisfies CircuitEvent];
  given(...closed)
    .when(count(9), NOW + 5)
    .thenEmitsLike({ type: 'circuit_failure_recorded' })
    .thenTimes();
  given(...closed)
    .when(count(2), NOW + 5)
    .thenNothing();
});

test('any messages satisfy the laws of a decider and give one trial slot at a time', () => {
  const message = fc.oneof(
    fc.nat(6).map((n) => count(n)),
    fc.nat(6).map((n) => enter(n)),
    fc
      .tuple(fc.nat(6), fc.constantFrom('succeeded' as const, 'failed' as const))
      .map(([n, ended]) => enter(n, ended)),
    fc.constantFrom(coolDown, set('open'), set('closed')),
  );
  const acts = fc.array(fc.record({ message, now: fc.integer({ min: NOW, max: NOW + 200_000 }) }), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(acts, (sequence) => {
      const run = holdsEveryLaw(circuitDecider, sequence);
      for (const event of eventsOf(run)) expect(RecoveryEvent.parse(event)).toEqual(event);
      let trial: string | undefined;
      for (const { made, message: said } of run) {
        for (const event of made.events) {
          if (event.type === 'circuit_half_opened') trial = event.executor;
          else if (event.type !== 'circuit_failure_recorded') trial = undefined;
        }
        const admitted = made.send.filter(({ data }) => (data as { state?: string }).state === 'half_open');
        const asked = said.kind === 'circuit_acquire' ? said.payload.task : undefined;
        expect(admitted.map(() => trial)).toEqual(admitted.map(() => `task:${String(asked)}`));
      }
    }),
  );
});
