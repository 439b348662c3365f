import { describe, expect, test } from 'vitest';
import { remoteVectors } from '../generate/vectors.ts';
import { keyIdOf } from '../values/jws.ts';
import { checkGrant, keysIn, rotatedKeys } from './check-grant.ts';
import { isSignedByClaimant } from './remote.ts';

const { grants, keys, rotation, claimant } = remoteVectors();

describe('a claimant checks the grant of an order', () => {
  test.each(grants.map((each) => [each.name, each.code ?? 'acts', each] as const))(
    '%s: %s',
    (_, __, { claimed, now, code }) => {
      expect(checkGrant(claimed, keysIn({ keys }), now)?.code).toBe(code ?? undefined);
    },
  );

  test('without keys nothing is accepted', () => {
    const [{ claimed, now } = expect.fail()] = grants;
    expect(checkGrant(claimed, [], now)?.code).toBe('EXECUTOR_GRANT_INVALID');
  });
});

test('after a rotation the new key is trusted, the retired one and those of strangers are not', () => {
  const rotated = rotatedKeys(keysIn({ keys }), rotation.published);
  expect(rotated.map(keyIdOf)).toEqual(rotation.trusted);
});

test('statements of unknown keys change nothing', () => {
  const statements = rotation.published.statements.slice(1);
  expect(rotatedKeys(keysIn({ keys }), { statements }).map(keyIdOf)).toEqual(keys.map(({ kid }) => kid));
});

test('beats and ends count with the signature of the claim only', () => {
  expect(isSignedByClaimant(claimant.beat)).toBe(true);
  for (const end of claimant.ends) {
    expect(isSignedByClaimant(end)).toBe(true);
    expect(isSignedByClaimant({ ...end, epoch: 2 })).toBe(false);
  }
});
