import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { describe, expect, test } from 'vitest';
import { bareOrderFor, effectOf, NOW, orderFor, verify, workOf } from '../../testing/orders.ts';
import { whyRefused } from './admission.ts';
import { type CapabilityTraits, classifiersWith } from './custom-traits.ts';

const facts: CapabilityTraits = {
  uses: 'cap.custom.set_flag',
  effectClass: 'probeable',
  work: false,
  kind: 'deploy',
  preview: true,
  compensate: true,
};
const codeFor = (
  change: Partial<CanonicalEffect>,
  known: CapabilityTraits = facts,
  custom: readonly CapabilityTraits[] = [known],
): string | undefined => {
  const { classOf, kindOf } = classifiersWith(custom);
  const order =
    change.kind === 'work'
      ? bareOrderFor(workOf(change))
      : orderFor(effectOf({ uses: facts.uses, kind: 'deploy', effectClass: 'probeable', ...change }));
  return whyRefused(order, NOW, verify, classOf, kindOf)?.code;
};

describe('orders of a custom capability', () => {
  test('a custom effect runs as its module declares it', () => {
    expect(codeFor({})).toBeUndefined();
    expect(codeFor({ kind: 'notify' }, { ...facts, kind: undefined })).toBeUndefined();
  });

  test('a custom effect of another class or kind is refused', () => {
    expect(codeFor({ effectClass: 'opaque' })).toBe('EXECUTOR_CLASS_MISMATCH');
    expect(codeFor({ kind: 'notify' })).toBe('EXECUTOR_CLASS_MISMATCH');
  });

  test('a custom effect without its module is refused', () => {
    expect(codeFor({}, facts, [])).toBe('EXECUTOR_UNKNOWN_CAPABILITY');
    expect(codeFor({ uses: 'cap.custom.set_flags' })).toBe('EXECUTOR_UNKNOWN_CAPABILITY');
  });

  test('a custom capability is work only when its module says so', () => {
    const work = { kind: 'work', uses: facts.uses, effectClass: 'idempotent' } as const;
    expect(codeFor(work)).toBe('EXECUTOR_GRANT_INVALID');
    expect(codeFor(work, { ...facts, work: true })).toBeUndefined();
  });

  test('a custom preview is work, and a custom compensation is an opaque effect', () => {
    const preview = { kind: 'work', uses: `${facts.uses}.preview`, effectClass: 'idempotent' } as const;
    expect(codeFor(preview)).toBeUndefined();
    expect(codeFor(preview, { ...facts, preview: false })).toBe('EXECUTOR_GRANT_INVALID');
    const undo = {
      uses: `${facts.uses}.compensate`,
      kind: 'destructive_edit',
      effectClass: 'opaque',
    } as const;
    expect(codeFor(undo)).toBeUndefined();
    expect(codeFor({ ...undo, kind: 'other' })).toBe('EXECUTOR_CLASS_MISMATCH');
    expect(codeFor({ ...undo, effectClass: 'idempotent' })).toBe('EXECUTOR_CLASS_MISMATCH');
    expect(codeFor(undo, { ...facts, compensate: false })).toBe('EXECUTOR_UNKNOWN_CAPABILITY');
  });
});

test('built-in capabilities keep their classes', () => {
  const { classOf, kindOf } = classifiersWith([facts]);
  expect(classOf(effectOf())).toBe('keyed');
  expect(kindOf('cap.env.builtin.git.integrate_plan_branch')).toBe('merge');
  expect(kindOf('cap.file.append')).toBeUndefined();
});
