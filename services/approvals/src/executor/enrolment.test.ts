import type { EnrolmentEvent } from '@holdpoint/contracts/approval/enrolment';
import { executorKeyIdOf } from '@holdpoint/contracts/values/ids';
import { describe, expect, test } from 'vitest';
import { enrolmentDecider, evolveExecutor, type EnrolmentMessage, type ExecutorKey } from './enrolment.ts';

const X = 'A'.repeat(43);
const id = executorKeyIdOf(X);
const enrol: EnrolmentMessage = { kind: 'enrol_executor', id, name: 'host-1', key: 'kid-1', x: X };
const revoke: EnrolmentMessage = { kind: 'revoke_executor', id, by: 'ada', reason: 'stolen disk' };

const run = (...messages: readonly EnrolmentMessage[]) => {
  let state: ExecutorKey | undefined;
  const events: EnrolmentEvent[] = [];
  let answer: unknown;
  for (const [now, message] of messages.entries()) {
    const made = enrolmentDecider.decide(state, message, { now });
    for (const event of made.events) {
      events.push(event);
      state = evolveExecutor(state, event);
    }
    ({ answer } = made);
  }
  return { state, events, answer };
};

describe('the key of an executor', () => {
  test('an executor enrols once, however often it asks', () => {
    const { events, answer } = run(enrol, enrol, enrol);
    expect(events).toEqual([{ type: 'executor_enrolled', id, name: 'host-1', key: 'kid-1', x: X, at: 0 }]);
    expect(answer).toMatchObject({ ok: { status: 'enrolled', enrolledAt: 0 } });
  });

  test('an executor with other targets announces them, once, and keeps its enrolment', () => {
    const targets = { request: ['https://a.example'], keyed: [], idempotent: [], anyPublic: false };
    const { events, state } = run(enrol, { ...enrol, reach: targets }, { ...enrol, reach: { ...targets } });
    expect(events).toMatchObject([{ at: 0 }, { type: 'executor_enrolled', reach: targets, at: 1 }]);
    expect(state).toMatchObject({ enrolledAt: 0, reach: targets });
    expect(run(enrol, { ...enrol, reach: targets }, enrol).state?.reach).toBeUndefined();
  });

  test('a revoked key names the person and cannot enrol again', () => {
    const { events, answer } = run(enrol, revoke, revoke, enrol);
    expect(events.map(({ type }) => type)).toEqual(['executor_enrolled', 'executor_revoked']);
    expect(events[1]).toMatchObject({ by: 'ada', key: 'kid-1', reason: 'stolen disk' });
    expect(answer).toMatchObject({ error: { code: 'APPROVALS_EXECUTOR_REVOKED' } });
  });

  test('the audit log names who forgot an executor and why, once for each reason', () => {
    const forget: EnrolmentMessage = { kind: 'forget_executor', id, by: 'ada', reason: 'broken disk' };
    const { events, answer } = run(enrol, forget, forget, { ...forget, reason: 'lost again' });
    expect(events.slice(1)).toMatchObject([
      { type: 'executor_forgotten', name: 'host-1', by: 'ada', reason: 'broken disk' },
      { type: 'executor_forgotten', name: 'host-1', by: 'ada', reason: 'lost again' },
    ]);
    expect(answer).toMatchObject({
      ok: { status: 'enrolled', forgottenBy: 'ada', forgottenWhy: 'lost again' },
    });
  });

  test.each([
    ['revoked', revoke],
    ['forgotten', { kind: 'forget_executor', id, by: 'ada', reason: 'broken disk' } as const],
  ])('an unknown key cannot be %s', (_, message) => {
    expect(run(message)).toMatchObject({
      events: [],
      answer: { error: { code: 'APPROVALS_UNKNOWN_EXECUTOR' } },
    });
  });
});
