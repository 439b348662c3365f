import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { GrantClaims } from '@holdpoint/contracts/effect/grant';
import { describe, expect, test } from 'vitest';
import {
  claimsFor,
  effectOf,
  forgedGrantFor,
  GRANT_ENDS,
  grantFor,
  NOW,
  orderFor,
  verify,
} from '../../testing/orders.ts';
import { whyRefused } from './admission.ts';

const codeFor = (order: ReturnType<typeof orderFor>, now = NOW): string | undefined =>
  whyRefused(order, now, verify)?.code;
const effect = effectOf();
const other = effectOf({ args: { file: 'sample.txt', line: 'something else' } });
const elsewhere = effectOf({ idempotencyKey: 'append:other.txt' });

test('an approved effect may run', () => {
  expect(codeFor(orderFor())).toBeUndefined();
});

describe('a grant', () => {
  const damaged = (from: string, change: Partial<GrantClaims>): string => {
    const [header = '', , signature = ''] = from.split('.');
    return [
      header,
      Buffer.from(JSON.stringify({ ...claimsFor(effect), ...change })).toString('base64url'),
      signature,
    ].join('.');
  };

  test.each([
    ['has a forged signature', forgedGrantFor(effect)],
    ['has unsigned claims', damaged(grantFor(effect), { exp: GRANT_ENDS })],
    ['is not a token', 'yes'],
    ['lacks a claim', grantFor(effect, { digest: undefined as never })],
    ['has no digest', grantFor(effect, { digest: 'none' })],
  ])('a grant that %s is not valid', (_, grant) => {
    expect(codeFor(orderFor(effect, { grant }))).toBe('EXECUTOR_GRANT_INVALID');
  });

  test('a grant expires to the second', () => {
    expect(codeFor(orderFor(), GRANT_ENDS - 1)).toBeUndefined();
    expect(codeFor(orderFor(), GRANT_ENDS)).toBe('EXECUTOR_GRANT_EXPIRED');
  });

  test('a grant for another effect of the same digest is refused', () => {
    expect(codeFor(orderFor(effect, { grant: grantFor(effect, { sub: orderFor(elsewhere).id }) }))).toBe(
      'EXECUTOR_GRANT_MISMATCH',
    );
  });

  test('a grant for an effect under another id is refused', () => {
    expect(
      codeFor(
        orderFor(effect, {
          id: orderFor(elsewhere).id,
          grant: grantFor(effect, { sub: orderFor(elsewhere).id }),
        }),
      ),
    ).toBe('EXECUTOR_GRANT_MISMATCH');
  });
});

describe('the order differs from the approved effect', () => {
  test.each([
    ['other arguments under the approved grant and digest', orderFor(effect, { effect: other })],
    ['other arguments under the approved grant', orderFor(other, { grant: grantFor(effect) })],
    ['the approved effect under another digest', orderFor(effect, { digest: orderFor(other).digest })],
    ['another target', orderFor(effect, { effect: effectOf({ target: 'file:secret' }) })],
    ['another kind', orderFor(effect, { effect: effectOf({ kind: 'deploy' }) })],
    ['another class', orderFor(effect, { effect: effectOf({ effectClass: 'idempotent' }) })],
    ['another task', orderFor(effect, { effect: effectOf({ task: 't-2' as never }) })],
    [
      'an additional argument',
      orderFor(effect, { effect: effectOf({ args: { ...effect.args, mode: 'w' } }) }),
    ],
  ])('an order with %s is refused', (_, order) => {
    expect(codeFor(order)).toBe('EXECUTOR_DIGEST_MISMATCH');
  });
});

describe('capabilities', () => {
  test.each(['cap.file.delete', 'control.prepare', 'cap.constructor'])(
    'an unknown capability is refused: %s',
    (uses) => {
      expect(codeFor(orderFor(effectOf({ uses })))).toBe('EXECUTOR_UNKNOWN_CAPABILITY');
    },
  );

  test.each(['fenced', 'probeable', 'idempotent', 'opaque'] as const)(
    'an approval of the class %s does not change the class',
    (effectClass) => {
      expect(codeFor(orderFor(effectOf({ effectClass })))).toBe('EXECUTOR_CLASS_MISMATCH');
    },
  );
});

describe('an order that misstates its effect', () => {
  const refusal = (change: Partial<CanonicalEffect>) => codeFor(orderFor(effectOf(change)));

  test.each<[string, Partial<CanonicalEffect>]>([
    ['its target', { target: 'notify:team' }],
    ['its kind', { kind: 'notify' }],
  ])('is refused for %s, even with a grant for exactly this effect', (_, change) => {
    expect(refusal(change)).toBe('EXECUTOR_EFFECT_MISDESCRIBED');
  });

  test('runs with a higher kind than its capability has', () => {
    expect(refusal({ kind: 'deploy' })).toBeUndefined();
  });
});
