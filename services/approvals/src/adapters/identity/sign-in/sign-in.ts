import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { OidcCode, SignedIn, SignInWays } from '@holdpoint/contracts/approval/sign-in';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { type Attempts, tooManyAttempts } from '../attempts.ts';
import { isBearer } from '../bearer.ts';
import type { OidcTokens } from '../oidc/tokens.ts';
import type { OidcProvider } from '../oidc/provider.ts';
import type { SignInSettings } from './settings.ts';

/** Codes that are handed to the provider at the same time: whoever makes up codes makes no more load than this. */
const REDEEMED_AT_ONCE = 16;

export type SignInParts = {
  readonly settings: SignInSettings;
  readonly provider: OidcProvider;
  /** Tokens that are meant for this client, whatever Holdpoint takes otherwise. */
  readonly idTokens: OidcTokens;
  /** The subject whose token it is, if Holdpoint takes it and it makes somebody of whoever shows it. Throws `RUNTIME_UNAVAILABLE`. */
  readonly subjectOf: (token: string) => Promise<string | undefined>;
  readonly attempts: Attempts;
  readonly log: Logger;
};

export type SignIn = {
  readonly ways: () => Promise<SignInWays>;
  /**
   * A token for a code. Throws `APPROVALS_SIGN_IN_REFUSED`, `APPROVALS_TOO_MANY_ATTEMPTS` with `retryAfterSeconds` in its
   * details, or `RUNTIME_UNAVAILABLE`.
   */
  readonly redeem: (code: OidcCode, source: string) => Promise<SignedIn>;
};

const refused = (text: string): HoldpointError => new HoldpointError('APPROVALS_SIGN_IN_REFUSED', text);

/** Signs people in by the login of an OIDC provider. */
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
      ? refused('the OIDC provider does not vouch for this sign-in: begin it anew')
      : tooManyAttempts(wait);
  };

  /**
   * The ID token, or else the access token, whichever Holdpoint takes from this provider. The first has been bound to this very
   * sign-in by its nonce; the second counts only for the same person.
   */
  const tokenFor = async (code: OidcCode, source: string): Promise<string> => {
    const given = await provider.redeem(code);
    const claims = given && (await idTokens.claimsOf(given.idToken));
    if (given === undefined || claims === undefined) throw fail(source);
    for (const token of [given.idToken, given.accessToken])
      if (isBearer(token) && (await subjectOf(token)) === claims.sub) return token;
    // Nobody has guessed anything: it is who runs Holdpoint that has to look.
    attempts.noted(source, 'oidc');
    log.warn('neither token of the OIDC provider is taken: audience or claims are not those of the settings');
    throw refused(
      'the OIDC provider has let you in, but its tokens do not count here: whoever runs Holdpoint has to look at its settings of OIDC',
    );
  };

  return {
    ways: async () => {
      const oidc = { name, clientId, scopes: [...scopes] };
      try {
        const { authorization_endpoint: authorizationEndpoint } = await provider.metadata();
        return { oidc: { ...oidc, authorizationEndpoint } };
      } catch (error) {
        // It was logged where it happened. Who has a token gets in without the provider.
        if (error instanceof HoldpointError && error.code === 'RUNTIME_UNAVAILABLE') return { oidc };
        throw error;
      }
    },
    redeem: async (code, source) => {
      if (redeeming >= REDEEMED_AT_ONCE)
        throw new HoldpointError('RUNTIME_UNAVAILABLE', 'too many are signing in at once; try again');
      redeeming += 1;
      try {
        return { token: await tokenFor(code, source) };
      } finally {
        redeeming -= 1;
      }
    },
  };
};
