import type { OidcCode, SignInWays } from '@holdpoint/contracts/approval/sign-in';

// Signing in by the login of an OIDC provider: what the page keeps while somebody is there, and what it makes of his return.

export type OidcWay = NonNullable<SignInWays['oidc']>;

/** A sign-in that was begun in this tab. */
export type Begun = {
  /** Comes back with the answer: whoever has it was sent by this page. */
  readonly state: string;
  /** Stands in the token: it was made for this very sign-in. */
  readonly nonce: string;
  /** Redeems the code: whoever has only seen the code has nothing. */
  readonly verifier: string;
  readonly redirectUri: string;
  /** Where in the page he was. */
  readonly place: string;
  /** What people call the provider. */
  readonly name: string;
};

/** Of this tab, and gone with it. */
const BEGUN = 'holdpoint-sign-in';

const FIELDS = ['state', 'nonce', 'verifier', 'redirectUri', 'place', 'name'] as const;

/** Undefined for what this page has not written. */
const begunIn = (text: string | null): Begun | undefined => {
  try {
    const said = JSON.parse(text ?? 'null') as Readonly<Record<string, unknown>> | null;
    if (said === null || !FIELDS.every((field) => typeof said[field] === 'string')) return undefined;
    return said as Begun;
  } catch {
    // Somebody has put something else there: it is no sign-in of ours.
    return undefined;
  }
};

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '');

/** 256 bits that nobody guesses. */
const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** Not by the browser's own hash: that is there only on pages that came by HTTPS. */
const challengeFor = async (verifier: string): Promise<string> => {
  const { sha256 } = await import('@noble/hashes/sha2.js');
  return base64url(sha256(new TextEncoder().encode(verifier)));
};

/** A sign-in from where somebody is, and the login that he is to be sent to. */
export const beginSignIn = async (
  { name, clientId, scopes }: OidcWay,
  authorizationEndpoint: string,
  { href, hash }: Pick<Location, 'href' | 'hash'>,
): Promise<{ readonly begun: Begun; readonly url: string }> => {
  // The page itself, wherever it is served from: the provider knows this address, and nothing of it may change.
  const redirectUri = new URL('.', href.replace(/[?#].*$/, '')).href;
  const begun = { state: random(), nonce: random(), verifier: random(), redirectUri, place: hash, name };
  const url = new URL(authorizationEndpoint);
  const asked = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: scopes.join(' '),
    state: begun.state,
    nonce: begun.nonce,
    code_challenge: await challengeFor(begun.verifier),
    code_challenge_method: 'S256',
  };
  for (const [field, value] of Object.entries(asked)) url.searchParams.set(field, value);
  return { begun, url: url.href };
};

/** How somebody comes back: with a code to be redeemed, or with word of what went wrong. */
export type Arrival =
  | { readonly kind: 'code'; readonly code: OidcCode; readonly name: string; readonly place: string }
  | { readonly kind: 'problem'; readonly notice: string; readonly place: string | undefined };

const NOT_OURS =
  'This sign-in was not begun in this tab, or is over already. Nothing was done with it. Sign in again.';

const noticeOf = (error: string, name: string): string => {
  switch (error) {
    case 'access_denied':
      return `${name} did not let you in, or you turned back there.`;
    case 'server_error':
    case 'temporarily_unavailable':
      return `${name} lets nobody in at the moment. Try again in a while.`;
    default:
      // Only what the standard may say: anybody can write a text into an address.
      return `${name} has refused the sign-in${/^[a-z_]{1,64}$/.test(error) ? ` (${error})` : ''}. Whoever runs Holdpoint can find out why.`;
  }
};

/** What somebody brings along in the address of the page; undefined when he does not come from a login. */
export const arrivalOf = (search: string, begun: Begun | undefined): Arrival | undefined => {
  const query = new URLSearchParams(search);
  const [code, error] = [query.get('code'), query.get('error')];
  if (code === null && error === null) return undefined;
  // Else anybody could sign somebody in as whom he likes, by a link.
  if (begun === undefined || query.get('state') !== begun.state)
    return { kind: 'problem', notice: NOT_OURS, place: undefined };
  const { name, place, verifier, nonce, redirectUri } = begun;
  if (error !== null || code === null) return { kind: 'problem', notice: noticeOf(error ?? '', name), place };
  const issuer = query.get('iss');
  const brought = { code, verifier, nonce, redirectUri, ...(issuer !== null && { issuer }) };
  return { kind: 'code', code: brought, name, place };
};

export const keepBegun = (begun: Begun): void => sessionStorage.setItem(BEGUN, JSON.stringify(begun));

/**
 * Takes what somebody brings along out of the address, before anything else is done: neither a reload nor a link that he copies
 * has it any more. What this tab had begun counts once.
 */
export const takeArrival = (): Arrival | undefined => {
  const begun = begunIn(sessionStorage.getItem(BEGUN));
  const arrival = arrivalOf(location.search, begun);
  if (arrival === undefined) return undefined;
  // A link that somebody else has sent ends no sign-in that is under way here.
  if (arrival.place !== undefined) sessionStorage.removeItem(BEGUN);
  history.replaceState(null, '', `${location.pathname}${arrival.place ?? location.hash}`);
  return arrival;
};
