import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { OidcCode } from '@holdpoint/contracts/approval/sign-in';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import * as oauth from 'oauth4webapi';
import { boundedText } from './bounded-text.ts';
import { isSafeUrl } from './settings.ts';
import type { SignInSettings } from '../sign-in/settings.ts';

/** How long the provider may take for one answer: two of them are waited for while somebody looks at the page. */
const TIMEOUT_MS = 4_000;
/** Far more than its description has, or tokens that would still fit into a header. */
const ANSWER_MAX_BYTES = 262_144;
/** After this the provider is asked anew where its endpoints are. */
const METADATA_MAX_AGE_MS = 600_000;
/** So long after a failure nobody asks it again. */
const AFTER_FAILURE_MS = 2_000;
/** Anybody may ask for tokens as often as he likes: what goes wrong then is logged no more often than this. */
const LOG_EVERY_MS = 1_000;

export type Metadata = oauth.AuthorizationServer & {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
};

/** What the provider gave for a code. Of both only the claims of the first have been looked at, and no signature. */
export type Tokens = { readonly idToken: string; readonly accessToken: string };

export type OidcProvider = {
  /** Where its endpoints are, as it describes itself. Throws `RUNTIME_UNAVAILABLE`. */
  readonly metadata: () => Promise<Metadata>;
  /** Undefined when it does not take the code, or what it gives is not for this sign-in. Throws `RUNTIME_UNAVAILABLE`. */
  readonly redeem: (code: OidcCode) => Promise<Tokens | undefined>;
};

const unavailable = (): HoldpointError =>
  new HoldpointError('RUNTIME_UNAVAILABLE', 'the OIDC provider does not answer as it should; try again');

/** Follows no redirection, and takes neither longer nor more than it may. */
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

/** Said of the code and not of the client. */
const OF_CODES: ReadonlySet<string> = new Set(['invalid_grant', 'invalid_request']);
/** What does not even look like an answer, right or wrong. */
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

/** What may be logged: an error of the library brings along what it was about, which may be a code, a token or a secret. */
const fieldsOf = (error: unknown): object => {
  if (!isOfLibrary(error)) return errorFields(error);
  const said = error instanceof oauth.ResponseBodyError ? error.error : undefined;
  return { problem: error.code, ...(/^\w{1,64}$/.test(said ?? '') && { said }) };
};

/**
 * A provider asked as whoever runs Holdpoint has registered it. `secret` is that of the client, if it has one. `now` is
 * monotonic, in milliseconds.
 */
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
    log.error(fieldsOf(error), 'the OIDC provider gives no tokens');
  };
  const discover = async (): Promise<Metadata> => {
    try {
      const url = new URL(issuer);
      const found = await oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, how));
      const { authorization_endpoint: login, token_endpoint: token } = found;
      // Tokens are compared character by character: what is only the same URL would sign nobody in.
      if (found.issuer !== issuer)
        throw new Error('the provider calls itself otherwise than it is configured');
      if (login === undefined || token === undefined || !isSafeUrl(login) || !isSafeUrl(token))
        throw new Error('the provider names no endpoints that could be trusted');
      const metadata = { ...found, authorization_endpoint: login, token_endpoint: token };
      kept = { metadata, at: now() };
      return metadata;
    } catch (error) {
      failedAt = now();
      log.warn(fieldsOf(error), 'the OIDC provider does not describe itself');
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
  /** As the standard has it where the provider names no ways. */
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
        // The page has compared it: nobody else knows what it was.
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
          // It is counted as every failure; why it was one is only for who looks for it.
          log.debug(fieldsOf(error), 'a sign-in was refused');
          return undefined;
        }
        complain(error);
        throw unavailable();
      }
    },
  };
};
