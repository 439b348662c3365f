import { createHash } from 'node:crypto';
import type { Scope } from '@holdpoint/contracts/approval/access-token';
import { accessTokenIdOf } from '@holdpoint/contracts/values/ids';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { describe, expect, test } from 'vitest';
import type { StoredPerson } from '../../people/people.ts';
import type { StoredToken } from '../../queries/tokens.ts';
import { createAttempts, FAILURES_MAX } from './attempts.ts';
import { createIdentity, type IdentityParts } from './create-identity.ts';
import { createDirectory } from './principals/directory.ts';
import type { Identity } from './identity.ts';

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
const known = [
  { name: 'ada', groups: ['operators'], tokenSha256: hashOf('hpt_ada'), discord: '42', oidc: 'sub-ada' },
  { name: 'grace', groups: ['auditors', 'operators'], roles: ['lead'], tokenSha256: hashOf('hpt_grace') },
];

const stored = (secret: string, more: Partial<StoredToken> = {}): StoredToken => ({
  id: accessTokenIdOf(hashOf(secret)),
  sha256: hashOf(secret),
  principal: 'bot',
  groups: ['bots'],
  scopes: ['approvals:read'],
  revoked: false,
  expired: false,
  createdAt: 1_000,
  peopleVersion: 0,
  isSession: false,
  ...more,
});

const identityWith = (
  tokens: readonly StoredToken[] = [],
  more: Partial<IdentityParts> = {},
): Identity & { readonly attempts: IdentityParts['attempts'] } => {
  const attempts = createAttempts(silentLogger(), () => 0);
  const directory = createDirectory(known);
  const identity = createIdentity({
    directory: () => directory,
    administrators: ['operators'],
    findToken: (sha256) => Promise.resolve(tokens.find((token) => token.sha256 === sha256)),
    attempts,
    ...more,
  });
  return { ...identity, attempts };
};

const shown = (
  identity: Identity,
  authorization: string | undefined,
  scope: Scope = 'approvals:read',
  source = 'bus',
) => identity.authenticate({ authorization, source }, scope);

const errorFor = async (authorization: string | undefined, identity = identityWith()): Promise<unknown> => {
  try {
    await shown(identity, authorization);
  } catch (error) {
    return error;
  }
  throw new Error('somebody was let in');
};

describe('a token of the directory', () => {
  test.each([
    ['Bearer hpt_ada', { name: 'ada', groups: ['operators'] }],
    ['Bearer hpt_grace', { name: 'grace', groups: ['auditors', 'operators'], roles: ['lead'] }],
    ['bearer hpt_ada', { name: 'ada', groups: ['operators'] }],
  ])(
    '%s authenticates its owner with all scopes and without exposing the hash',
    async (authorization, who) => {
      expect(await shown(identityWith(), authorization, 'tokens:write')).toEqual(who);
    },
  );

  test('a person is found by Discord user id and by name', () => {
    const identity = identityWith();
    expect(identity.ofDiscord('42')).toEqual({ name: 'ada', groups: ['operators'] });
    expect(identity.ofDiscord('43')).toBeUndefined();
    expect([identity.knows('ada'), identity.knows('bot')]).toEqual([true, false]);
  });
});

describe('missing and wrong tokens receive the same answer', () => {
  test.each([
    '',
    'hpt_ada',
    'Bearer',
    'Bearer ',
    'Bearer hpt_mallory',
    'Bearer hpt_ad',
    'Bearer hpt_adaa',
    'Bearer HPT_ADA',
    'Bearer hpt_ada hpt_grace',
    'Bearer  hpt_ada',
    ' Bearer hpt_ada',
    'Bearer hpt_ada ',
    'Bearer hpt_ada\n',
    'Basic hpt_ada',
    `Bearer ${hashOf('hpt_ada')}`,
  ])('%j', async (authorization) => {
    const error = await errorFor(authorization);
    expect(error).toEqual(await errorFor(undefined));
    expect(error).toMatchObject({ code: 'APPROVALS_UNAUTHENTICATED' });
  });

  test('an overlong token is refused', async () => {
    expect(await errorFor(`Bearer ${'x'.repeat(100_000)}`)).toEqual(await errorFor(undefined));
  });

  test('the error does not contain the token', async () => {
    const error = await errorFor('Bearer sesame');
    expect(JSON.stringify(error) + String(error)).not.toContain('sesame');
  });

  test('the hash of an empty string is no valid token', async () => {
    const directory = createDirectory([{ name: 'nobody', groups: [], tokenSha256: hashOf('') }]);
    const careless = identityWith([stored('')], { directory: () => directory });
    for (const authorization of [undefined, '', 'Bearer ', 'Bearer'])
      expect(await errorFor(authorization, careless)).toMatchObject({ code: 'APPROVALS_UNAUTHENTICATED' });
  });
});

describe('a stored token', () => {
  test('a stored token allows its scopes and no others', async () => {
    const identity = identityWith([stored('s')]);
    expect(await shown(identity, 'Bearer s')).toEqual({
      name: 'bot',
      groups: ['bots'],
      scopes: ['approvals:read'],
      token: stored('s').id,
    });
    await expect(shown(identity, 'Bearer s', 'approvals:decide')).rejects.toMatchObject({
      code: 'APPROVALS_SCOPE',
    });
  });

  test('a person in the directory has the directory’s groups', async () => {
    const identity = identityWith([stored('s', { principal: 'grace', groups: ['operators', 'releasers'] })]);
    expect(await shown(identity, 'Bearer s')).toEqual({
      name: 'grace',
      groups: ['auditors', 'operators'],
      roles: ['lead'],
      scopes: ['approvals:read'],
      token: stored('s').id,
    });
  });

  test.each([
    ['expired', 'the token has expired'],
    ['revoked', 'the token was revoked'],
  ] as const)('a token that is %s is refused, with the reason', async (state, message) => {
    const error = await errorFor('Bearer s', identityWith([stored('s', { [state]: true })]));
    expect(error).toMatchObject({ code: 'APPROVALS_UNAUTHENTICATED', message });
  });

  describe('of a person of the store', () => {
    const eve = { name: 'eve', groups: ['releasers'], addedBy: 'ada', addedAt: 500 };
    const withPeople = (...people: readonly StoredPerson[]) =>
      identityWith([stored('s', { principal: 'eve' })], { directory: () => createDirectory(known, people) });

    test('a token of a person in the store has the groups of the person, not its own', async () => {
      expect(await shown(withPeople(eve), 'Bearer s')).toMatchObject({ name: 'eve', groups: ['releasers'] });
    });

    test('a token of a removed person is refused, also if it was not revoked', async () => {
      const removed = { ...eve, removedBy: 'ada', removedAt: 2_000 };
      expect(await errorFor('Bearer s', withPeople(removed))).toMatchObject({
        code: 'APPROVALS_UNAUTHENTICATED',
        message: 'the token was revoked',
      });
    });

    test('an old token stays refused when its person is added again', async () => {
      const again = { ...eve, addedAt: 3_000, removedAt: 1_000 };
      expect(await errorFor('Bearer s', withPeople(again))).toMatchObject({
        message: 'the token was revoked',
      });
      const earlier = { ...again, removedAt: 999 };
      expect(await shown(withPeople(earlier), 'Bearer s')).toMatchObject({ name: 'eve' });
    });

    test('the principals file wins over the store', async () => {
      const identity = identityWith([stored('s', { principal: 'grace' })], {
        directory: () =>
          createDirectory(known, [
            { ...eve, name: 'grace', groups: ['none'], removedBy: 'ada', removedAt: 9_000 },
          ]),
      });
      expect(await shown(identity, 'Bearer s')).toMatchObject({ groups: ['auditors', 'operators'] });
      expect([identity.knows('grace'), identity.isRemoved('grace')]).toEqual([true, false]);
    });

    test('people newer than the directory are read before the token counts', async () => {
      let people: readonly StoredPerson[] = [eve];
      const identity = identityWith([stored('s', { principal: 'eve', peopleVersion: 2 })], {
        directory: () => createDirectory(known, people),
        catchUp: async (version) => {
          if (version === 2) people = [{ ...eve, removedBy: 'ada', removedAt: 2_000 }];
        },
      });
      expect(await errorFor('Bearer s', identity)).toMatchObject({ code: 'APPROVALS_UNAUTHENTICATED' });
    });

    test('only the use of a valid token is reported', async () => {
      const used: string[] = [];
      const onUse = ({ principal }: StoredToken) => void used.push(principal);
      const tokens = [stored('s'), stored('t', { principal: 'gone', revoked: true })];
      const identity = identityWith(tokens, { onUse });
      await shown(identity, 'Bearer s');
      await errorFor('Bearer t', identity);
      expect(used).toEqual(['bot']);
    });
  });

  test('a token for an OIDC name is refused once the directory lists the person', async () => {
    const identity = identityWith([
      stored('s', { principal: 'oidc:sub-ada' }),
      stored('t', { principal: 'oidc:sub-eve' }),
    ]);
    expect(await errorFor('Bearer s', identity)).toMatchObject({ code: 'APPROVALS_UNAUTHENTICATED' });
    expect(await shown(identity, 'Bearer t')).toMatchObject({ name: 'oidc:sub-eve' });
  });

  test('a stored token with a different hash is refused', async () => {
    const findToken = () => Promise.resolve(stored('another'));
    expect(await errorFor('Bearer s', identityWith([], { findToken }))).toMatchObject({
      code: 'APPROVALS_UNAUTHENTICATED',
    });
  });
});

describe('a source with many wrong tokens', () => {
  const afterFailures = async () => {
    const identity = identityWith([stored('s')]);
    for (let i = 0; i < FAILURES_MAX; i += 1)
      expect(await errorFor(`Bearer wrong-${String(i)}`, identity)).toMatchObject({
        code: 'APPROVALS_UNAUTHENTICATED',
      });
    return identity;
  };

  test('after many wrong tokens the error tells how long to wait', async () => {
    expect(await errorFor('Bearer wrong', await afterFailures())).toMatchObject({
      code: 'APPROVALS_TOO_MANY_ATTEMPTS',
      details: { retryAfterSeconds: 60 },
    });
  });

  test('a valid token is accepted in spite of earlier failures', async () => {
    const identity = await afterFailures();
    expect(await shown(identity, 'Bearer hpt_ada')).toMatchObject({ name: 'ada' });
    expect(await shown(identity, 'Bearer s')).toMatchObject({ name: 'bot' });
  });

  test('failures do not slow down other sources', async () => {
    const identity = await afterFailures();
    await expect(shown(identity, 'Bearer x', 'approvals:read', '10.0.0.2')).rejects.toMatchObject({
      code: 'APPROVALS_UNAUTHENTICATED',
    });
  });

  test('missing tokens and missing scopes do not slow down a source', async () => {
    const identity = identityWith([stored('s')]);
    for (let i = 0; i < 2 * FAILURES_MAX; i += 1) {
      await errorFor(undefined, identity);
      await expect(shown(identity, 'Bearer s', 'audit:read')).rejects.toMatchObject({
        code: 'APPROVALS_SCOPE',
      });
    }
    expect(await errorFor('Bearer wrong', identity)).toMatchObject({ code: 'APPROVALS_UNAUTHENTICATED' });
    const counted = identity.attempts.counted().map(({ labels, value }) => [labels.kind, value]);
    expect(Object.fromEntries(counted)).toMatchObject({ missing: 40, scope: 40, unknown: 1, revoked: 0 });
  });
});

test('an agent’s token names the agent, whether its owner is in the directory or not', async () => {
  const identity = identityWith([
    stored('hpt_claude', { principal: 'ada', agent: 'claude' }),
    stored('hpt_robot', { agent: 'robot' }),
  ]);
  expect(await shown(identity, 'Bearer hpt_claude')).toMatchObject({ name: 'ada', agent: 'claude' });
  expect(await shown(identity, 'Bearer hpt_robot')).toMatchObject({ name: 'bot', agent: 'robot' });
});
