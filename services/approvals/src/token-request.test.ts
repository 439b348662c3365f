import { CreateAccessToken, Scope } from '@holdpoint/contracts/approval/access-token';
import { isAmong } from '@holdpoint/contracts/workflow/audience';
import { accessTokenIdOf } from '@holdpoint/contracts/values/ids';
import { describe, expect, test } from 'vitest';
import type { Principal } from './approval/state.ts';
import { tokenMessage } from './token-request.ts';

const sha256 = 'a'.repeat(64);
const identity = {
  isAdministrator: (principal: Principal) => isAmong(['operators'], principal),
  knows: (name: string) => name === 'ada' || name === 'grace',
  isRemoved: (name: string) => name === 'eve',
};
const grace: Principal = { name: 'grace', groups: ['operators'] };
const ada: Principal = { name: 'ada', groups: ['developers'] };
const bot: Principal = {
  name: 'bot',
  groups: ['bots', 'nightly'],
  scopes: ['approvals:read', 'tokens:write'],
};

const made = (by: Principal, wanted: object = {}) =>
  tokenMessage(identity, by, CreateAccessToken.parse({ name: 'a token', sha256, ...wanted }));

const refusalOf = (by: Principal, wanted: object): unknown => {
  try {
    made(by, wanted);
  } catch (error) {
    return error;
  }
  throw new Error('it was made');
};

test('a token belongs to its creator and may read and decide by default', () => {
  expect(made(ada, { expiresInMs: 60_000 })).toEqual({
    kind: 'create_token',
    token: {
      id: accessTokenIdOf(sha256),
      name: 'a token',
      principal: 'ada',
      groups: [],
      scopes: ['approvals:read', 'approvals:decide'],
    },
    sha256,
    expiresInMs: 60_000,
    by: 'ada',
  });
});

describe('groups', () => {
  test('a token for a person in the directory stores no groups', () => {
    expect(made(ada, { groups: ['developers'] })).toMatchObject({ token: { groups: [] } });
    expect(made(grace, { principal: 'ada', groups: ['auditors'] })).toMatchObject({ token: { groups: [] } });
  });

  test('a token for another person stores their groups or fewer', () => {
    const scopes = ['approvals:read'];
    expect(made(bot, { scopes })).toMatchObject({ token: { groups: ['bots', 'nightly'] } });
    expect(made(bot, { scopes, groups: ['bots'] })).toMatchObject({ token: { groups: ['bots'] } });
    expect(made(bot, { scopes, groups: [] })).toMatchObject({ token: { groups: [] } });
    expect(refusalOf(bot, { scopes, groups: ['bots', 'operators'] })).toMatchObject({
      code: 'APPROVALS_NOT_ENTITLED',
    });
    expect(refusalOf(ada, { groups: ['operators'] })).toMatchObject({ code: 'APPROVALS_NOT_ENTITLED' });
  });

  test('an administrator may set the groups of a new person', () => {
    expect(made(grace, { principal: 'release-bot', groups: ['releasers'] })).toMatchObject({
      token: { principal: 'release-bot', groups: ['releasers'] },
      by: 'grace',
    });
    expect(made(grace, { principal: 'release-bot', groups: [] })).toMatchObject({ token: { groups: [] } });
  });

  test('a token for an unknown name needs groups, so that a typing error gives no token', () => {
    expect(refusalOf(grace, { principal: 'gracw' })).toMatchObject({ code: 'APPROVALS_UNKNOWN_PERSON' });
  });

  test('a removed person gets no token, with groups or without', () => {
    for (const groups of [undefined, ['operators']])
      expect(refusalOf(grace, { principal: 'eve', groups })).toMatchObject({
        code: 'APPROVALS_UNKNOWN_PERSON',
      });
  });

  test.each(['user:ada', 'role:lead', 'group:operators', 'a\nb'])(
    'ambiguous group names are refused, also for administrators: %j',
    (group) => {
      expect(refusalOf(grace, { principal: 'x', groups: [group] })).toMatchObject({
        code: 'CONTRACT_INVALID',
      });
    },
  );
});

describe('only an administrator may create a token for another person', () => {
  test.each(['grace', 'release-bot'])('%s is made by administrators alone', (principal) => {
    expect(refusalOf(ada, { principal })).toMatchObject({ code: 'APPROVALS_NOT_ENTITLED' });
    expect(made(grace, { principal, groups: [] })).toMatchObject({ token: { principal } });
  });
});

describe('scopes', () => {
  test('a token may have any scopes of its creator', () => {
    expect(made(ada, { scopes: [...Scope.options, 'audit:read'] })).toMatchObject({
      token: { scopes: Scope.options },
    });
  });

  test('a sign-in link opens a session with the scopes of its creator', () => {
    expect(made(bot, { signIn: true })).toMatchObject({ signIn: true, token: { scopes: bot.scopes } });
    expect(made(ada, { signIn: true })).toMatchObject({ token: { scopes: Scope.options } });
  });

  test.each([
    ['the default', undefined],
    ['more', ['approvals:read', 'audit:read']],
  ])('a token cannot grant more scopes than its own: %s', (_, scopes) => {
    expect(refusalOf(bot, { scopes })).toMatchObject({ code: 'APPROVALS_SCOPE' });
    const small: Principal = { ...grace, scopes: ['tokens:write'] };
    expect(refusalOf(small, { scopes })).toMatchObject({ code: 'APPROVALS_SCOPE' });
    expect(refusalOf(small, { principal: 'ada', scopes })).toMatchObject({ code: 'APPROVALS_SCOPE' });
  });
});

describe('an agent', () => {
  test('a token for an agent names the agent', () => {
    expect(made(ada, { agent: 'claude' })).toMatchObject({ token: { principal: 'ada', agent: 'claude' } });
  });

  test('an agent cannot create tokens', () => {
    expect(refusalOf({ ...ada, agent: 'claude' }, {})).toMatchObject({ code: 'APPROVALS_NOT_ENTITLED' });
  });
});

describe('claims of remote capabilities', () => {
  test('a token with claims may claim their effects and nothing else by default', () => {
    expect(made(ada, { claims: ['refund', 'refund', 'mail'] })).toMatchObject({
      token: { scopes: ['effects:claim'], claims: ['refund', 'mail'] },
    });
  });

  test('a token with the scope alone may claim all effects that its creator may claim', () => {
    const scopes = ['effects:claim'];
    expect(made(ada, { scopes }).kind === 'create_token' && made(ada, { scopes })).not.toHaveProperty(
      'token.claims',
    );
    expect(made({ ...ada, claims: ['refund'] }, { scopes })).toMatchObject({ token: { claims: ['refund'] } });
  });

  test('a token with limited claims grants no others', () => {
    const limited = { ...ada, claims: ['refund'] };
    expect(made(limited, { claims: ['refund'] })).toMatchObject({ token: { claims: ['refund'] } });
    expect(refusalOf(limited, { claims: ['refund', 'mail'] })).toMatchObject({ code: 'APPROVALS_SCOPE' });
  });

  test('claims need the scope for claims', () => {
    const refusal = refusalOf(ada, { claims: ['refund'], scopes: ['approvals:read'] });
    expect(refusal).toMatchObject({ code: 'CONTRACT_INVALID' });
  });
});
