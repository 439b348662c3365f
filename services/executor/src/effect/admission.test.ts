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

test('what was approved may run', () => {
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
    ['is signed by somebody else', forgedGrantFor(effect)],
    ['has claims that were not signed', damaged(grantFor(effect), { exp: GRANT_ENDS })],
    ['is no token at all', 'yes'],
    ['lacks a claim', grantFor(effect, { digest: undefined as never })],
    ['is for no digest', grantFor(effect, { digest: 'none' })],
  ])('that %s is not valid', (_, grant) => {
    expect(codeFor(orderFor(effect, { grant }))).toBe('EXECUTOR_GRANT_INVALID');
  });

  test('ends to the second', () => {
    expect(codeFor(orderFor(), GRANT_ENDS - 1)).toBeUndefined();
    expect(codeFor(orderFor(), GRANT_ENDS)).toBe('EXECUTOR_GRANT_EXPIRED');
  });

  test('for another effect of the same digest is not for this one', () => {
    expect(codeFor(orderFor(effect, { grant: grantFor(effect, { sub: orderFor(elsewhere).id }) }))).toBe(
      'EXECUTOR_GRANT_MISMATCH',
    );
  });

  test('for an effect under another id is not for this one', () => {
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

describe('what is ordered is what was approved:', () => {
  test.each([
    ['other arguments under the grant and digest of the approved', orderFor(effect, { effect: other })],
    ['other arguments under the grant of the approved', orderFor(other, { grant: grantFor(effect) })],
    ['the approved effect under another digest', orderFor(effect, { digest: orderFor(other).digest })],
    ['another target', orderFor(effect, { effect: effectOf({ target: 'file:secret' }) })],
    ['another kind', orderFor(effect, { effect: effectOf({ kind: 'deploy' }) })],
    ['another class', orderFor(effect, { effect: effectOf({ effectClass: 'idempotent' }) })],
    ['another task', orderFor(effect, { effect: effectOf({ task: 't-2' as never }) })],
    ['an argument more', orderFor(effect, { effect: effectOf({ args: { ...effect.args, mode: 'w' } }) })],
  ])('%s is refused', (_, order) => {
    expect(codeFor(order)).toBe('EXECUTOR_DIGEST_MISMATCH');
  });
});

describe('a capability', () => {
  test.each(['cap.file.delete', 'control.prepare', 'cap.constructor'])(
    'that nobody knows is refused: %s',
    (uses) => {
      expect(codeFor(orderFor(effectOf({ uses })))).toBe('EXECUTOR_UNKNOWN_CAPABILITY');
    },
  );

  test.each(['fenced', 'probeable', 'idempotent', 'opaque'] as const)(
    'has the class it has, whoever approved %s',
    (effectClass) => {
      expect(codeFor(orderFor(effectOf({ effectClass })))).toBe('EXECUTOR_CLASS_MISMATCH');
    },
  );
});
