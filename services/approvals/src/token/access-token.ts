import {
  type AccessTokenView,
  SESSION_MS,
  SIGN_IN_CODE_MS,
  type TokenEvent,
} from '@holdpoint/contracts/approval/access-token';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { AccessTokenId } from '@holdpoint/contracts/values/ids';
import { asSent } from '@holdpoint/contracts/values/json';
import { type Decider, type Decision, decision, refused, unknownEvent } from '@holdpoint/runtime/decider';

/** An access token. Only the hash of its secret is stored. */
export type AccessToken = {
  readonly status: 'token';
  /** Absent while the code of a sign-in link waits: a code is no token. */
  readonly sha256?: string | undefined;
  /** Of the code of a sign-in link. */
  readonly code?: string | undefined;
} & Omit<AccessTokenView, 'status' | 'usedAt'>;

export type TokenMessage =
  | {
      readonly kind: 'create_token';
      readonly token: Pick<
        AccessTokenView,
        'id' | 'name' | 'principal' | 'groups' | 'scopes' | 'claims' | 'agent'
      >;
      readonly sha256: string;
      readonly expiresInMs?: number | undefined;
      readonly signIn?: true | undefined;
      readonly by: string;
    }
  | {
      readonly kind: 'redeem_code';
      readonly id: AccessTokenId;
      /** SHA-256 of the code, and of the secret of the session. */
      readonly code: string;
      readonly sha256: string;
    }
  | {
      readonly kind: 'revoke_token';
      readonly id: AccessTokenId;
      readonly by: string;
      /** Others may revoke only their own tokens. */
      readonly administrator: boolean;
    };

type TokenDecision = Decision<TokenEvent>;

export const evolveToken = (state: AccessToken | undefined, event: TokenEvent): AccessToken => {
  if (event.type === 'token_created') {
    const { type: _, by, at, signIn, sha256, ...token } = event;
    const secret = signIn === true ? ({ code: sha256, signIn: 'code' } as const) : { sha256 };
    return { status: 'token', ...token, ...secret, createdBy: by, createdAt: at };
  }
  if (state === undefined) throw new Error(`token ${event.id} was never created`);
  switch (event.type) {
    case 'token_redeemed':
      return { ...state, signIn: 'session', sha256: event.sha256, expiresAt: event.expiresAt };
    case 'token_revoked':
      return { ...state, revokedBy: event.by };
    default:
      return unknownEvent(event);
  }
};

export const tokenView = ({ sha256: _, code: __, status: ___, ...token }: AccessToken): AccessTokenView => ({
  ...token,
  status: token.revokedBy === undefined ? 'active' : 'revoked',
});

const answered = (token: AccessToken): Pick<TokenDecision, 'answer'> => ({
  answer: { ok: asSent(tokenView(token)) },
});

const create = (
  state: AccessToken | undefined,
  { token, sha256, expiresInMs, signIn, by }: Extract<TokenMessage, { kind: 'create_token' }>,
  now: number,
): TokenDecision => {
  if (state !== undefined) {
    // A secret that was revoked, or belongs to another person, cannot be registered again.
    const same =
      state.revokedBy === undefined && state.principal === token.principal && state.createdBy === by;
    return same
      ? decision(answered(state))
      : refused(
          errorBody('APPROVALS_TOKEN_CONFLICT', 'a token with this secret exists already or was revoked'),
        );
  }
  const livesMs = signIn === true ? SIGN_IN_CODE_MS : expiresInMs;
  const event: TokenEvent = {
    type: 'token_created',
    ...token,
    sha256,
    ...(signIn === true && { signIn }),
    ...(livesMs !== undefined && { expiresAt: now + livesMs }),
    by,
    at: now,
  };
  return decision({ events: [event], ...answered(evolveToken(undefined, event)) });
};

/** Why the code of a sign-in link does not count. */
const codeProblem = (state: AccessToken | undefined, code: string, now: number): string | undefined => {
  if (state?.code !== code) return 'this sign-in link is unknown';
  if (state.revokedBy !== undefined) return 'this sign-in link was revoked';
  if (state.sha256 !== undefined) return 'this sign-in link was used already';
  return (state.expiresAt ?? 0) <= now ? 'this sign-in link has expired' : undefined;
};

/** The commit that opens the session also uses up the code. */
const redeem = (
  state: AccessToken | undefined,
  { id, code, sha256 }: Extract<TokenMessage, { kind: 'redeem_code' }>,
  now: number,
): TokenDecision => {
  if (state?.code === code && state.sha256 === sha256 && state.revokedBy === undefined)
    return decision(answered(state));
  const problem = codeProblem(state, code, now);
  if (state === undefined || problem !== undefined)
    return refused(
      errorBody('APPROVALS_SIGN_IN_REFUSED', `${problem ?? ''}: get a new one with \`holdpoint console\``),
    );
  const event: TokenEvent = { type: 'token_redeemed', id, sha256, expiresAt: now + SESSION_MS, at: now };
  return decision({ events: [event], ...answered(evolveToken(state, event)) });
};

const revoke = (
  state: AccessToken | undefined,
  { id, by, administrator }: Extract<TokenMessage, { kind: 'revoke_token' }>,
  now: number,
): TokenDecision => {
  if (state === undefined) return refused(errorBody('APPROVALS_UNKNOWN_TOKEN', `unknown token: ${id}`));
  if (!administrator && state.principal !== by)
    return refused(errorBody('APPROVALS_NOT_ENTITLED', `token ${id} belongs to another person`));
  if (state.revokedBy !== undefined) return decision(answered(state));
  const event: TokenEvent = { type: 'token_revoked', id: state.id, by, at: now };
  return decision({ events: [event], ...answered(evolveToken(state, event)) });
};

export const tokenDecider: Decider<AccessToken | undefined, TokenMessage, TokenEvent> = {
  initial: undefined,
  evolve: evolveToken,
  decide: (state, message, { now }) => {
    switch (message.kind) {
      case 'create_token':
        return create(state, message, now);
      case 'redeem_code':
        return redeem(state, message, now);
      case 'revoke_token':
        return revoke(state, message, now);
    }
  },
};
