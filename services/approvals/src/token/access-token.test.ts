import { accessTokenIdOf } from '@holdpoint/contracts/values/ids';
import {
  SESSION_MS,
  SIGN_IN_CODE_MS,
  type TokenEvent,
  TokenEvent as TokenEventSchema,
} from '@holdpoint/contracts/approval/access-token';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { REQUESTED_AT } from '../../testing/requests.ts';
import { tokenDecider, type TokenMessage, tokenView } from './access-token.ts';

const given = specFor(tokenDecider);
const sha256 = 'ab'.repeat(32);
const id = accessTokenIdOf(sha256);
const token = {
  id,
  name: 'laptop',
  principal: 'ada',
  groups: ['operators'],
  scopes: ['approvals:read', 'approvals:decide'],
} satisfies Extract<TokenMessage, { kind: 'create_token' }>['token'];
const create = (change: Partial<Extract<TokenMessage, { kind: 'create_token' }>> = {}): TokenMessage => ({
  kind: 'create_token',
  token,
  sha256,
  by: 'root',
  ...change,
});
const revoke = (by: string, administrator = false): TokenMessage => ({
  kind: 'revoke_token',
  id,
  by,
  administrator,
});
const created: TokenEvent = { type: 'token_created', ...token, sha256, by: 'root', at: REQUESTED_AT };
const revoked: TokenEvent = { type: 'token_revoked', id, by: 'ada', at: REQUESTED_AT + 5 };

describe('an access token', () => {
  test('a token stores only the hash of its secret', () => {
    given()
      .when(create(), REQUESTED_AT)
      .thenEmits(created)
      .thenAnswers({ id, principal: 'ada', status: 'active' });
    expect(TokenEventSchema.parse(created)).toEqual(created);
  });

  test('a token may expire, counted from its creation', () => {
    given()
      .when(create({ expiresInMs: 60_000 }), REQUESTED_AT)
      .thenEmits({ ...created, expiresAt: REQUESTED_AT + 60_000 })
      .thenAnswers({ expiresAt: REQUESTED_AT + 60_000 });
  });

  test('the view of a token does not contain the hash', () => {
    const state = tokenDecider.evolve(tokenDecider.initial, created);
    if (state === undefined) throw new Error('no token');
    expect(JSON.stringify(tokenView(state))).not.toContain(sha256);
    for (const message of [create(), revoke('ada')])
      expect(
        JSON.stringify(tokenDecider.decide(state, message, { now: REQUESTED_AT + 1 }).answer),
      ).not.toContain(sha256);
  });

  test('a repeated creation receives the same answer', () => {
    given(created)
      .when(create(), REQUESTED_AT + 9)
      .thenNothing()
      .thenAnswers({ id, status: 'active', createdAt: REQUESTED_AT });
  });

  test.each([
    ['for another person', [created], create({ token: { ...token, principal: 'mallory' } })],
    ['from another creator', [created], create({ by: 'mallory' })],
    ['after its revocation', [created, revoked], create()],
  ])('a token with the same secret is refused %s', (_, history, message) => {
    given(...history)
      .when(message, REQUESTED_AT + 9)
      .thenRefuses('APPROVALS_TOKEN_CONFLICT');
  });

  test.each([
    ['its owner', revoke('ada'), 'ada'],
    ['an administrator', revoke('root', true), 'root'],
  ])('a token is revoked by %s', (_, message, by) => {
    given(created)
      .when(message, REQUESTED_AT + 5)
      .thenEmits({ ...revoked, by })
      .thenAnswers({ id, status: 'revoked', revokedBy: by });
  });

  test.each(['mallory', 'root'])('a token is not revoked by %s, who is no administrator', (by) => {
    given(created)
      .when(revoke(by), REQUESTED_AT + 5)
      .thenRefuses('APPROVALS_NOT_ENTITLED');
  });

  test('a token is revoked once, by the first person', () => {
    given(created, revoked)
      .when(revoke('root', true), REQUESTED_AT + 9)
      .thenNothing()
      .thenAnswers({ status: 'revoked', revokedBy: 'ada' });
  });

  test('revoking an unknown token is refused', () => {
    given().when(revoke('root', true), REQUESTED_AT).thenRefuses('APPROVALS_UNKNOWN_TOKEN');
  });
});

describe('a sign-in link', () => {
  const session = 'cd'.repeat(32);
  const begun: TokenEvent = {
    ...created,
    signIn: true,
    expiresAt: REQUESTED_AT + SIGN_IN_CODE_MS,
  };
  const opened: TokenEvent = {
    type: 'token_redeemed',
    id,
    sha256: session,
    expiresAt: REQUESTED_AT + 9 + SESSION_MS,
    at: REQUESTED_AT + 9,
  };
  const redeem = (change: Partial<Extract<TokenMessage, { kind: 'redeem_code' }>> = {}): TokenMessage => ({
    kind: 'redeem_code',
    id,
    code: sha256,
    sha256: session,
    ...change,
  });

  test('the code of a sign-in link is valid for five minutes, whatever lifetime was asked for', () => {
    given()
      .when(create({ signIn: true, expiresInMs: 86_400_000 }), REQUESTED_AT)
      .thenEmits(begun)
      .thenAnswers({ signIn: 'code' });
  });

  test('the code of a sign-in link is no token', () => {
    const state = tokenDecider.evolve(undefined, begun);
    expect(state).toMatchObject({ code: sha256 });
    expect(state).not.toHaveProperty('sha256');
    expect(JSON.stringify(state && tokenView(state))).not.toContain(sha256);
  });

  test('the code of a sign-in link opens a session with a secret of its own', () => {
    given(begun)
      .when(redeem(), REQUESTED_AT + 9)
      .thenEmits(opened)
      .thenAnswers({ signIn: 'session', expiresAt: REQUESTED_AT + 9 + SESSION_MS });
    expect(tokenDecider.evolve(tokenDecider.evolve(undefined, begun), opened)).toMatchObject({
      sha256: session,
    });
  });

  test.each([
    ['a second time', [begun, opened], redeem({ sha256: 'ef'.repeat(32) }), REQUESTED_AT + 10],
    ['after five minutes', [begun], redeem(), REQUESTED_AT + SIGN_IN_CODE_MS],
    ['after its revocation', [begun, revoked], redeem(), REQUESTED_AT + 9],
    ['when a session was revoked', [begun, opened, revoked], redeem(), REQUESTED_AT + 10],
    ['with another code', [begun], redeem({ code: 'ef'.repeat(32) }), REQUESTED_AT + 9],
    ['of a token that is no link', [created], redeem(), REQUESTED_AT + 9],
    ['that was never made', [], redeem(), REQUESTED_AT + 9],
  ])('the code of a sign-in link is refused %s', (_, history, message, now) => {
    given(...history)
      .when(message, now)
      .thenRefuses('APPROVALS_SIGN_IN_REFUSED');
  });
});
