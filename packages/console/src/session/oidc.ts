import type { OidcCode, SignInWays } from '@holdpoint/contracts/approval/sign-in';

// OIDC sign-in: the state that the page keeps during the login, and the handling of the redirect.

export type OidcWay = NonNullable<SignInWays['oidc']>;

/** A sign-in that this tab started. */
export type PendingSignIn = {
  /** Returned with the answer: proves that this page sent the user. */
  readonly state: string;
  /** Part of the token: binds it to this sign-in. */
  readonly nonce: string;
  /** Redeems the code: the code alone is worthless. */
  readonly verifier: string;
  readonly redirectUri: string;
  /** The page to return to. */
  readonly route: string;
  /** Display name of the provider. */
  readonly name: string;
};

/** Per tab, cleared when it closes. */
const BEGUN = 'holdpoint-sign-in';

const FIELDS = ['state', 'nonce', 'verifier', 'redirectUri', 'route', 'name'] as const;

/** Undefined for unknown content. */
const begunIn = (text: string | null): PendingSignIn | undefined => {
  try {
    const stored = JSON.parse(text ?? 'null') as Readonly<Record<string, unknown>> | null;
    if (stored === null || !FIELDS.every((field) => typeof stored[field] === 'string')) return undefined;
    return stored as PendingSignIn;
  } catch {
    // Unknown content: not one of our sign-ins.
    return undefined;
  }
};

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '');

/** 256 random bits. */
const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** Not the browser's own hash: it needs HTTPS. */
const challengeFor = async (verifier: string): Promise<string> => {
  const { sha256 } = await import('@noble/hashes/sha2.js');
  return base64url(sha256(new TextEncoder().encode(verifier)));
};

/** A sign-in from the current page, with the login to redirect to. */
export const beginSignIn = async (
  { name, clientId, scopes }: OidcWay,
  authorizationEndpoint: string,
  { href, hash }: Pick<Location, 'href' | 'hash'>,
): Promise<{ readonly pending: PendingSignIn; readonly url: string }> => {
  // The redirect URI is registered at the provider and must not vary.
  const redirectUri = new URL('.', href.replace(/[?#].*$/, '')).href;
  const pending = { state: random(), nonce: random(), verifier: random(), redirectUri, route: hash, name };
  const url = new URL(authorizationEndpoint);
  const query = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: scopes.join(' '),
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await challengeFor(pending.verifier),
    code_challenge_method: 'S256',
  };
  for (const [field, value] of Object.entries(query)) url.searchParams.set(field, value);
  return { pending, url: url.href };
};

/** The answer of the provider: a code, or an error. */
export type Arrival =
  | { readonly kind: 'code'; readonly code: OidcCode; readonly name: string; readonly route: string }
  | { readonly kind: 'problem'; readonly notice: string; readonly route: string | undefined };

const NOT_OURS = 'This tab did not start the sign-in, or it has ended. Sign in again.';

const noticeOf = (error: string, name: string): string => {
  switch (error) {
    case 'access_denied':
      return `${name} denied access, or you cancelled the login.`;
    case 'server_error':
    case 'temporarily_unavailable':
      return `${name} is temporarily unavailable. Try again later.`;
    default:
      // Only error codes of the standard: anyone can write a text into an address.
      return `${name} refused the sign-in${/^[a-z_]{1,64}$/.test(error) ? ` (${error})` : ''}. Ask your administrator.`;
  }
};

/** The answer in the page's address; undefined without one. */
export const arrivalOf = (search: string, pending: PendingSignIn | undefined): Arrival | undefined => {
  const query = new URLSearchParams(search);
  const [code, error] = [query.get('code'), query.get('error')];
  if (code === null && error === null) return undefined;
  // Without this check a link could sign a user in as another user.
  if (pending === undefined || query.get('state') !== pending.state)
    return { kind: 'problem', notice: NOT_OURS, route: undefined };
  const { name, route, verifier, nonce, redirectUri } = pending;
  if (error !== null || code === null) return { kind: 'problem', notice: noticeOf(error ?? '', name), route };
  const issuer = query.get('iss');
  const brought = { code, verifier, nonce, redirectUri, ...(issuer !== null && { issuer }) };
  return { kind: 'code', code: brought, name, route };
};

export const storePendingSignIn = (pending: PendingSignIn): void =>
  sessionStorage.setItem(BEGUN, JSON.stringify(pending));

/**
 * Takes the answer out of the address first, so that reloads and copied links do not contain it. The sign-in of this
 * tab counts once.
 */
export const takeArrival = (): Arrival | undefined => {
  const pending = begunIn(sessionStorage.getItem(BEGUN));
  const arrival = arrivalOf(location.search, pending);
  if (arrival === undefined) return undefined;
  // A foreign link must not end a sign-in in progress.
  if (arrival.route !== undefined) sessionStorage.removeItem(BEGUN);
  history.replaceState(null, '', `${location.pathname}${arrival.route ?? location.hash}`);
  return arrival;
};
