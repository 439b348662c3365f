import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { OidcCode } from '@holdpoint/contracts/approval/sign-in';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import * as oauth from 'oauth4webapi';
import { boundedText } from './bounded-text.ts';
import { isSafeUrl } from './settings.ts';
import type { SignInSettings } from '../sign-in/settings.ts';

/** Per request to the provider. A sign-in waits for two of them. */
const TIMEOUT_MS = 4_000;
/** Far more than its metadata, or tokens that still fit into a header. */
const ANSWER_MAX_BYTES = 262_144;
/** Metadata is fetched again after this. */
const METADATA_MAX_AGE_MS = 600_000;
/** No request is sent this long after a failure. */
const AFTER_FAILURE_MS = 2_000;
/** Sign-in needs no authentication, so its failures are logged no more often than this. */
const LOG_EVERY_MS = 1_000;

export type Metadata = oauth.AuthorizationServer & {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
};

/** The provider's answer to a code. Only the claims of the ID token have been checked, and no signature. */
export type Tokens = { readonly idToken: string; readonly accessToken: string };

export type OidcProvider = {
  /** The provider's metadata. Throws `RUNTIME_UNAVAILABLE`. */
  readonly metadata: () => Promise<Metadata>;
  /**
   * Undefined when the provider rejects the code, or its answer does not match this sign-in. Throws
   * `RUNTIME_UNAVAILABLE`.
   */
  readonly redeem: (code: OidcCode) => Promise<Tokens | undefined>;
};

const unavailable = (): HoldpointError =>
  new HoldpointError('RUNTIME_UNAVAILABLE', 'the OIDC provider is unavailable; try again');

/** Follows no redirects, and limits time and size. */
const fetchBounded = async (url: string, options: object): Promise<Response> => {
  const response = await fetch(url, {
    ...options,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await boundedText(response, ANSWER_MAX_BYTES);
  const { status, headers } = response;
  return new Response(text === '' ? null : text, { status, headers });
};

const isOfLibrary = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof oauth.OperationProcessingError ||
  error instanceof oauth.ResponseBodyError ||
  error instanceof oauth.WWWAuthenticateChallengeError ||
  error instanceof oauth.UnsupportedOperationError;

/** Errors about the code, not about the client. */
const OF_CODES: ReadonlySet<string> = new Set(['invalid_grant', 'invalid_request']);
/** The answer is malformed. */
const NO_ANSWER: ReadonlySet<string> = new Set([
  oauth.PARSE_ERROR,
  oauth.RESPONSE_IS_NOT_JSON,
  oauth.RESPONSE_IS_NOT_CONFORM,
]);

const isRefusal = (error: unknown): boolean => {
  if (error instanceof oauth.ResponseBodyError) return OF_CODES.has(error.error);
  if (error instanceof oauth.WWWAuthenticateChallengeError) return false;
  return isOfLibrary(error) && !NO_ANSWER.has(error.code);
};

/** Fields that are safe to log: the library's errors contain codes, tokens and secrets. */
const fieldsOf = (error: unknown): object => {
  if (!isOfLibrary(error)) return errorFields(error);
  const said = error instanceof oauth.ResponseBodyError ? error.error : undefined;
  return { problem: error.code, ...(/^\w{1,64}$/.test(said ?? '') && { said }) };
};

/** An OIDC provider. `secret` is the client's, if it has one. `now` is monotonic, in milliseconds. */
export const createOidcProvider = (
  { issuer, clientId }: Pick<SignInSettings, 'issuer' | 'clientId'>,
  secret: () => string | undefined,
  log: Logger,
  now: () => number = () => performance.now(),
): OidcProvider => {
  const client: oauth.Client = { client_id: clientId };
  const how = {
    [oauth.customFetch]: fetchBounded,
    // oxlint-disable-next-line typescript/no-deprecated -- deprecated to stand out: only for a provider of this very machine
    [oauth.allowInsecureRequests]: issuer.startsWith('http:'),
  };
  let kept: { readonly metadata: Metadata; readonly at: number } | undefined;
  let asking: Promise<Metadata> | undefined;
  let [failedAt, loggedAt] = [-Infinity, -Infinity];

  const complain = (error: unknown): void => {
    if (now() - loggedAt < LOG_EVERY_MS) return;
    loggedAt = now();
    log.error(fieldsOf(error), 'the OIDC provider returned no tokens');
  };
  const discover = async (): Promise<Metadata> => {
    try {
      const url = new URL(issuer);
      const found = await oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, how));
      const { authorization_endpoint: login, token_endpoint: token } = found;
      // Issuers are compared character by character: an equivalent URL would fail every sign-in.
      if (found.issuer !== issuer)
        throw new Error('the issuer in the metadata differs from HOLDPOINT_OIDC_ISSUER');
      if (login === undefined || token === undefined || !isSafeUrl(login) || !isSafeUrl(token))
        throw new Error('the metadata has no secure authorization and token endpoints');
      const metadata = { ...found, authorization_endpoint: login, token_endpoint: token };
      kept = { metadata, at: now() };
      return metadata;
    } catch (error) {
      failedAt = now();
      log.warn(fieldsOf(error), 'OIDC provider metadata is unavailable');
      throw unavailable();
    }
  };
  const metadata = (): Promise<Metadata> => {
    if (kept !== undefined && now() - kept.at < METADATA_MAX_AGE_MS) return Promise.resolve(kept.metadata);
    if (asking === undefined && now() - failedAt < AFTER_FAILURE_MS) return Promise.reject(unavailable());
    asking ??= discover().finally(() => {
      asking = undefined;
    });
    return asking;
  };
  /** `client_secret_basic` is the default of the standard. */
  const authentication = ({ token_endpoint_auth_methods_supported: ways }: Metadata): oauth.ClientAuth => {
    const shared = secret();
    if (shared === undefined) return oauth.None();
    const isBasic = ways === undefined || ways.includes('client_secret_basic');
    return isBasic ? oauth.ClientSecretBasic(shared) : oauth.ClientSecretPost(shared);
  };

  return {
    metadata,
    redeem: async ({ code, verifier, nonce, redirectUri, issuer: from }) => {
      const provider = await metadata();
      try {
        const back = new URLSearchParams({ code, ...(from !== undefined && { iss: from }) });
        // The page has checked the state; this service never sees it.
        const answered = oauth.validateAuthResponse(provider, client, back, oauth.skipStateCheck);
        const response = await oauth.authorizationCodeGrantRequest(
          provider,
          client,
          authentication(provider),
          answered,
          redirectUri,
          verifier,
          how,
        );
        const { id_token: idToken, access_token: accessToken } = await oauth.processAuthorizationCodeResponse(
          provider,
          client,
          response,
          { expectedNonce: nonce, requireIdToken: true },
        );
        return idToken === undefined ? undefined : { idToken, accessToken };
      } catch (error) {
        if (isRefusal(error)) {
          // The failure is counted elsewhere; its reason helps only in debugging.
          log.debug(fieldsOf(error), 'sign-in refused');
          return undefined;
        }
        complain(error);
        throw unavailable();
      }
    },
  };
};
