import { CapabilityDefinition, type RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { describe, expect, test } from 'vitest';
import { admit } from './admission.ts';

const registered = (change: object = {}): RegisteredCapability => ({
  ...CapabilityDefinition.parse({
    name: 'refund',
    title: 'Refund ${cents} cents of ${order.charge}',
    effectClass: 'keyed',
    target: 'payments:${order.charge}',
    input: {
      type: 'object',
      properties: { order: { required: ['charge'] }, cents: { type: 'integer', maximum: 500 } },
      required: ['order', 'cents'],
      additionalProperties: false,
    },
    ...change,
  }),
  status: 'registered',
  registeredBy: 'ada',
  registeredAt: 1,
});
const args = { order: { charge: 'ch_1' }, cents: 500 };
const effect = (change: Partial<CanonicalEffect> = {}): CanonicalEffect => ({
  task: 't' as TaskId,
  node: 'n' as NodeId,
  uses: 'cap.remote.refund',
  args,
  kind: 'write_external',
  effectClass: 'keyed',
  target: 'payments:ch_1',
  idempotencyKey: 'refund:ch_1',
  ...change,
});
const undo = (change: Partial<CanonicalEffect> = {}): CanonicalEffect =>
  effect({
    uses: 'cap.remote.refund.compensate',
    kind: 'destructive_edit',
    args: { effect: 'e-1', args, outputs: {} },
    ...change,
  });

describe('a request for a remote effect', () => {
  test('the registry gives title, description and risk', () => {
    expect(admit(effect(), 'refund', registered({ description: 'Pays back.', risk: 'high' }))).toEqual({
      words: { title: 'Refund 500 cents of ch_1', description: 'Pays back.', risk: 'high' },
    });
  });

  test('a registered risk never lowers that of kind and class', () => {
    const opaque = registered({ effectClass: 'opaque', risk: 'low' });
    expect(admit(effect({ effectClass: 'opaque' }), 'refund', opaque)).toMatchObject({
      words: { risk: 'high' },
    });
  });

  test('a title whose places are all empty is the name of the capability', () => {
    const nameless = registered({ title: '${order.note}' });
    expect(admit(effect(), 'refund', nameless)).toMatchObject({ words: { title: 'refund' } });
  });

  test('the preview is part of the approved effect and no argument of the program', () => {
    const shown = effect({ args: { ...args, preview: { fee: 3 } } });
    expect(admit(shown, 'refund', registered({ preview: true }))).toHaveProperty('words');
    expect(admit(shown, 'refund', registered())).toEqual({
      refusal: 'APPROVALS_ARGUMENTS_INVALID: preview: unknown property',
    });
  });

  test('its compensation is checked by the arguments of the effect', () => {
    const undoable = registered({ compensate: true });
    expect(admit(undo(), 'refund', undoable)).toMatchObject({
      words: { title: 'Undo: Refund 500 cents of ch_1', risk: 'high' },
    });
    const wrong = undo({ args: { args: { ...args, cents: 501 } } });
    expect(admit(wrong, 'refund', undoable)).toEqual({
      refusal: 'APPROVALS_ARGUMENTS_INVALID: cents: must be at most 500',
    });
  });

  test.each<
    [why: string, asked: CanonicalEffect, definition: RegisteredCapability | undefined, code: string]
  >([
    ['a name that was never registered', effect(), undefined, 'APPROVALS_UNKNOWN_CAPABILITY'],
    [
      'a withdrawn capability',
      effect(),
      { ...registered(), status: 'withdrawn', withdrawnBy: 'bob' },
      'APPROVALS_CAPABILITY_WITHDRAWN',
    ],
    ['another class', effect({ effectClass: 'idempotent' }), registered(), 'APPROVALS_EFFECT_MISDESCRIBED'],
    ['another kind', effect({ kind: 'notify' }), registered(), 'APPROVALS_EFFECT_MISDESCRIBED'],
    ['another target', effect({ target: 'payments:ch_2' }), registered(), 'APPROVALS_EFFECT_MISDESCRIBED'],
    [
      'wrong arguments',
      effect({ args: { ...args, cents: 'all' } }),
      registered(),
      'APPROVALS_ARGUMENTS_INVALID',
    ],
    [
      'a preview as an effect',
      effect({ uses: 'cap.remote.refund.preview' }),
      registered(),
      'APPROVALS_EFFECT',
    ],
    ['a compensation that is not registered', undo(), registered(), 'APPROVALS_EFFECT_MISDESCRIBED'],
    [
      'a compensation of another kind',
      undo({ kind: 'notify' }),
      registered({ compensate: true }),
      'APPROVALS_EFFECT_MISDESCRIBED',
    ],
  ])('%s is refused', (_, asked, definition, code) => {
    const made = admit(asked, 'refund', definition);
    expect('refusal' in made ? made.refusal : '').toMatch(new RegExp(`^${code}`));
  });
});
