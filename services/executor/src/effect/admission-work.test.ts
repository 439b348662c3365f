import { CAPABILITIES, effectClassOf } from '@holdpoint/contracts/effect/capabilities';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { effectIdOf, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bareOrderFor,
  decider,
  effectOf,
  grantFor,
  NOW,
  orderFor,
  slot,
  verify,
  workOf,
} from '../../testing/orders.ts';
import { whyRefused } from './admission.ts';

const codeFor = (order: RunEffect): string | undefined => whyRefused(order, NOW, verify)?.code;
const WORK = Object.keys(CAPABILITIES).filter((uses) => CAPABILITIES[uses]?.work === true);
const NO_WORK = Object.keys(CAPABILITIES).filter((uses) => CAPABILITIES[uses]?.work !== true);
const MERGE = 'cap.env.builtin.git.integrate_plan_branch';

describe('orders without a grant', () => {
  test.each(WORK)('%s may run as work', (uses) => {
    expect(codeFor(bareOrderFor(workOf({ uses })))).toBeUndefined();
  });

  test.each(NO_WORK)('%s may not run as work', (uses) => {
    const effectClass = CAPABILITIES[uses]?.effectClass ?? 'opaque';
    expect(codeFor(bareOrderFor(workOf({ uses })))).toBe('EXECUTOR_GRANT_INVALID');
    expect(codeFor(bareOrderFor(workOf({ uses, effectClass })))).toBe('EXECUTOR_GRANT_INVALID');
    expect(codeFor(bareOrderFor(workOf({ uses, effectClass, kind: 'merge' })))).toBe(
      'EXECUTOR_GRANT_INVALID',
    );
  });

  test.each(SideEffectKind.options)(
    'an effect of the kind %s may not run as work, even with a work capability',
    (kind) => {
      expect(codeFor(bareOrderFor(workOf({ kind })))).toBe('EXECUTOR_GRANT_INVALID');
      expect(codeFor(bareOrderFor(workOf({ kind, effectClass: 'opaque' })))).toBe('EXECUTOR_GRANT_INVALID');
    },
  );

  const work = bareOrderFor();
  const other = bareOrderFor(workOf({ idempotencyKey: 'other', args: { other: true } }));
  test.each([
    ['with the id of another effect', { ...work, id: other.id }],
    ['with the digest of another effect', { ...work, digest: other.digest }],
    ['with id and digest of another effect', { ...work, id: other.id, digest: other.digest }],
    ['with a wrong class', bareOrderFor(workOf({ effectClass: 'keyed' }))],
    ['with an unknown label', bareOrderFor(workOf({ uses: 'cap.agent.other' }))],
    ['with a label that every object has', bareOrderFor(workOf({ uses: 'constructor' }))],
    ['with a label of the orchestrator', bareOrderFor(workOf({ uses: 'control.terminal' }))],
  ])('work %s is refused', (_, order) => {
    expect(codeFor(order)).toBe('EXECUTOR_GRANT_INVALID');
  });

  test('the reason names the problem', () => {
    expect(whyRefused(bareOrderFor(effectOf()), NOW, verify)?.message).toBe(
      'Order without a grant: effects of kind write_external need one',
    );
  });
});

describe('orders with a grant', () => {
  test('work with a grant is refused', () => {
    expect(codeFor(orderFor(workOf()))).toBe('EXECUTOR_GRANT_INVALID');
  });

  test('a script as an effect is opaque', () => {
    const uses = 'cap.env.shell.command.run';
    const script = (effectClass: EffectClass): CanonicalEffect =>
      workOf({ uses, kind: 'deploy', effectClass });
    expect(codeFor(orderFor(script('opaque')))).toBeUndefined();
    expect(codeFor(orderFor(script('idempotent')))).toBe('EXECUTOR_CLASS_MISMATCH');
  });

  test('a label with one kind of effect is refused as another kind', () => {
    const merge = (kind: SideEffectKind): CanonicalEffect =>
      workOf({ uses: MERGE, kind, effectClass: 'fenced', target: 'branch:HEAD' });
    expect(codeFor(orderFor(merge('merge')))).toBeUndefined();
    for (const kind of SideEffectKind.options.filter((each) => each !== 'merge'))
      expect(codeFor(orderFor(merge(kind)))).toBe('EXECUTOR_CLASS_MISMATCH');
  });
});

/** Orders of a sender without a key, most of them almost valid. */
const forgeries: fc.Arbitrary<RunEffect> = fc
  .record({
    uses: fc.oneof(fc.constantFrom(...Object.keys(CAPABILITIES)), fc.constantFrom('__proto__', 'cap.none')),
    kind: fc.oneof(fc.constant('work' as const), fc.constantFrom(...SideEffectKind.options)),
    effectClass: fc.constantFrom(...EffectClass.options),
    task: fc.constantFrom('t-1', 't-2').map((id) => TaskId.parse(id)),
    node: fc.constantFrom('append', 'other').map((id) => NodeId.parse(id)),
    args: fc.dictionary(fc.string({ maxLength: 4 }), fc.integer(), { maxKeys: 2 }),
  })
  .chain((change) => {
    const effect = effectOf(change);
    const right = bareOrderFor(effect);
    return fc.record({
      id: fc.constantFrom(right.id, right.id, right.id, orderFor().id),
      attempt: fc.integer({ min: 1, max: 3 }),
      effect: fc.constant(effect),
      digest: fc.constantFrom(right.digest, right.digest, right.digest, orderFor().digest),
      // A grant for something else, and none.
      grant: fc.constantFrom(undefined, undefined, grantFor(effectOf({ args: { file: 'x' } }))),
    });
  })
  .map(({ grant, ...order }) => (grant === undefined ? order : { ...order, grant }));

test('a sender without a key can start only unchanged work', () => {
  let started = 0;
  fc.assert(
    fc.property(fc.array(forgeries, { minLength: 1, maxLength: 4 }), (orders) => {
      let state = decider.initial;
      for (const payload of orders) {
        const made = decider.decide(state, { kind: 'run', payload, slot }, { now: NOW });
        state = made.events.reduce((before, event) => decider.evolve(before, event), state);
        for (const work of made.work) {
          if (work.kind !== 'start') continue;
          started += 1;
          const { id, effect, digest, grant } = work.order;
          expect(grant).toBeUndefined();
          expect(effect.kind).toBe('work');
          expect(WORK).toContain(effect.uses);
          expect(effect.effectClass).toBe(effectClassOf(effect.uses, 'work'));
          expect(digest).toBe(effectDigest(effect));
          expect(id).toBe(effectIdOf(effect.task, effect.node, effect.idempotencyKey));
        }
      }
    }),
    { numRuns: 2_000 },
  );
  // Or the property would say nothing.
  expect(started).toBeGreaterThan(20);
});
