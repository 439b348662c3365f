import {
  CapabilityDefinition,
  type CapabilityEvent,
  type RegisteredCapability,
} from '@holdpoint/contracts/approval/capability';
import { capabilityIdOf } from '@holdpoint/contracts/values/ids';
import { describe, expect, test } from 'vitest';
import { capabilityDecider, type CapabilityMessage, evolveCapability } from './capability.ts';

const define = (change: object = {}): CapabilityDefinition =>
  CapabilityDefinition.parse({
    name: 'refund',
    title: 'Refund ${cents} cents of ${charge}',
    input: { properties: { charge: { type: 'string' }, cents: { type: 'integer' } } },
    ...change,
  });
const register = (change?: object, by = 'ada'): CapabilityMessage => ({
  kind: 'register_capability',
  definition: define(change),
  by,
});
const withdraw: CapabilityMessage = { kind: 'withdraw_capability', name: 'refund', by: 'bob' };

const run = (...messages: readonly CapabilityMessage[]) => {
  let state: RegisteredCapability | undefined;
  const events: CapabilityEvent[] = [];
  let answer: unknown;
  for (const [now, message] of messages.entries()) {
    const made = capabilityDecider.decide(state, message, { now });
    for (const event of made.events) {
      events.push(event);
      state = evolveCapability(state, event);
    }
    ({ answer } = made);
  }
  return { state, events, answer };
};

describe('a remote capability', () => {
  test('the same definition is registered once, and each change of it is an event', () => {
    const { events, answer } = run(register(), register({}, 'bob'), register({ risk: 'high' }, 'bob'));
    expect(events).toMatchObject([
      { type: 'capability_registered', id: capabilityIdOf('refund'), name: 'refund', by: 'ada', at: 0 },
      { type: 'capability_registered', definition: { risk: 'high' }, by: 'bob', at: 2 },
    ]);
    expect(answer).toMatchObject({ ok: { status: 'registered', registeredBy: 'bob', registeredAt: 2 } });
  });

  test('a capability without a stated class, kind and risk is an opaque write', () => {
    expect(run(register()).state).toMatchObject({ effectClass: 'opaque', kind: 'write_external' });
  });

  test('a withdrawn capability is withdrawn once, and registered again by its own definition', () => {
    const withdrawn = run(register(), withdraw, withdraw);
    expect(withdrawn.events.map(({ type }) => type)).toEqual([
      'capability_registered',
      'capability_withdrawn',
    ]);
    expect(withdrawn.answer).toMatchObject({ ok: { status: 'withdrawn', withdrawnBy: 'bob' } });
    const again = run(register(), withdraw, register());
    expect(again.state).toMatchObject({ status: 'registered', registeredAt: 2 });
    expect(again.state?.withdrawnBy).toBeUndefined();
  });

  test('an unknown capability cannot be withdrawn', () => {
    expect(run(withdraw)).toMatchObject({
      events: [],
      answer: { error: { code: 'APPROVALS_UNKNOWN_CAPABILITY' } },
    });
  });

  test.each([
    ['a schema that cannot be used', { input: { type: 'text' } }, 'input/type: names no type of JSON'],
    ['a schema of outputs that cannot be used', { output: { enum: 1 } }, 'output/enum: needs a list'],
    [
      'a preview and an argument of this name',
      { preview: true, input: { properties: { charge: {}, cents: {}, preview: {} } } },
      'input/properties/preview: an effect with a preview has no argument of this name',
    ],
    ['a place that names no argument', { title: 'Refund ${}' }, 'title: write places as'],
    ['a place without an end', { target: 'a:${charge' }, 'target: write places as'],
    ['a place with an expression', { title: '${a + b}' }, 'title: write places as'],
    [
      'a place that the schema forbids',
      { input: { properties: { cents: {} }, additionalProperties: false } },
      'title: no argument is named charge',
    ],
  ])('a definition with %s is refused', (_, change, problem) => {
    const { events, answer } = run(register(change));
    expect(events).toEqual([]);
    expect(answer).toMatchObject({ error: { code: 'APPROVALS_CAPABILITY_INVALID' } });
    expect(JSON.stringify(answer)).toContain(problem);
  });
});
