import type { AccessTokenView, TokenEvent } from '@holdpoint/contracts/approval/access-token';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { AccessTokenId } from '@holdpoint/contracts/values/ids';
import { asSent } from '@holdpoint/contracts/values/json';
import { type Decider, type Decision, decision, refused } from '@holdpoint/runtime/decider';

/** An access token. Only the hash of its secret is stored. */
export type AccessToken = { readonly status: 'token'; readonly sha256: string } & Omit<
  AccessTokenView,
  'status'
>;

export type TokenMessage =
  | {
      readonly kind: 'create_token';
      readonly token: Omit<AccessTokenView, 'status' | 'createdBy' | 'createdAt' | 'revokedBy' | 'expiresAt'>;
      readonly sha256: string;
      readonly expiresInMs?: number | undefined;
      readonly by: string;
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
    const { type: _, by, at, ...token } = event;
    return { status: 'token', ...token, createdBy: by, createdAt: at };
  }
  if (state === undefined) throw new Error(`token ${event.id} was never created`);
  return { ...state, revokedBy: event.by };
};

export const tokenView = ({ sha256: _, status: __, ...token }: AccessToken): AccessTokenView => ({
  ...token,
  status: token.revokedBy === undefined ? 'active' : 'revoked',
});

const answered = (token: AccessToken): Pick<TokenDecision, 'answer'> => ({
  answer: { ok: asSent(tokenView(token)) },
});

const create = (
  state: AccessToken | undefined,
  { token, sha256, expiresInMs, by }: Extract<TokenMessage, { kind: 'create_token' }>,
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
  const event: TokenEvent = {
    type: 'token_created',
    ...token,
    sha256,
    ...(expiresInMs !== undefined && { expiresAt: now + expiresInMs }),
    by,
    at: now,
  };
  return decision({ events: [event], ...answered(evolveToken(undefined, event)) });
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
  decide: (state, message, { now }) =>
    message.kind === 'create_token' ? create(state, message, now) : revoke(state, message, now),
};
