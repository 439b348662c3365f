import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { OidcCode, SignedIn, SignInWays } from '@holdpoint/contracts/approval/sign-in';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { type Attempts, tooManyAttempts } from '../attempts.ts';
import { isBearer } from '../bearer.ts';
import type { OidcTokens } from '../oidc/tokens.ts';
import type { OidcProvider } from '../oidc/provider.ts';
import type { SignInSettings } from './settings.ts';

/** Codes redeemed concurrently, so that made-up codes cause limited load. */
const REDEEMED_AT_ONCE = 16;

export type SignInParts = {
  readonly settings: SignInSettings;
  readonly provider: OidcProvider;
  /** Verifies tokens issued for this client. The audiences of other tokens do not matter. */
  readonly idTokens: OidcTokens;
  /** The subject of a token that Holdpoint accepts for a known person. Throws `RUNTIME_UNAVAILABLE`. */
  readonly subjectOf: (token: string) => Promise<string | undefined>;
  readonly attempts: Attempts;
  readonly log: Logger;
};

export type SignIn = {
  readonly ways: () => Promise<SignInWays>;
  /**
   * Exchanges a code for a token. Throws `APPROVALS_SIGN_IN_REFUSED`, `APPROVALS_TOO_MANY_ATTEMPTS` with
   * `retryAfterSeconds` in its details, or `RUNTIME_UNAVAILABLE`.
   */
  readonly redeem: (code: OidcCode, source: string) => Promise<SignedIn>;
};

const refused = (text: string): HoldpointError => new HoldpointError('APPROVALS_SIGN_IN_REFUSED', text);

/** The sign-in through an OIDC provider. */
export const createSignIn = ({
  settings: { name, clientId, scopes },
  provider,
  idTokens,
  subjectOf,
  attempts,
  log,
}: SignInParts): SignIn => {
  let redeeming = 0;

  const fail = (source: string): HoldpointError => {
    const wait = attempts.failed(source, 'oidc');
    return wait === undefined
      ? refused('the OIDC provider rejected this sign-in: sign in again')
      : tooManyAttempts(wait);
  };

  /**
   * The ID token, or else the access token, whichever Holdpoint accepts. The nonce binds the ID token to this
   * sign-in; the access token must have the same subject.
   */
  const tokenFor = async (code: OidcCode, source: string): Promise<string> => {
    const given = await provider.redeem(code);
    const claims = given && (await idTokens.claimsOf(given.idToken));
    if (given === undefined || claims === undefined) throw fail(source);
    for (const token of [given.idToken, given.accessToken])
      if (isBearer(token) && (await subjectOf(token)) === claims.sub) return token;
    // This is a configuration problem, not a guess.
    attempts.noted(source, 'oidc');
    log.warn('no token of the OIDC provider was accepted: check audience and claims');
    throw refused(
      'Holdpoint accepts no token of this OIDC provider: ask the operator to check the OIDC settings',
    );
  };

  return {
    ways: async () => {
      const oidc = { name, clientId, scopes: [...scopes] };
      try {
        const { authorization_endpoint: authorizationEndpoint } = await provider.metadata();
        return { oidc: { ...oidc, authorizationEndpoint } };
      } catch (error) {
        // Logged already. Users with a token do not need the provider.
        if (hasCode(error, 'RUNTIME_UNAVAILABLE')) return { oidc };
        throw error;
      }
    },
    redeem: async (code, source) => {
      if (redeeming >= REDEEMED_AT_ONCE)
        throw new HoldpointError('RUNTIME_UNAVAILABLE', 'too many sign-ins at once; try again');
      redeeming += 1;
      try {
        return { token: await tokenFor(code, source) };
      } finally {
        redeeming -= 1;
      }
    },
  };
};
