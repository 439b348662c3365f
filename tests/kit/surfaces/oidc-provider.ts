import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** The faults of the provider; a test changes them as it runs. */
export type OidcProviderState = {
  /** The fault of the paths whose names contain `where`. */
  fate: 'answer' | 'away' | 'silent' | 'huge' | 'redirect' | 'no-json';
  where: string;
  /** Wrong fields of its metadata. */
  metadata: Readonly<Record<string, unknown>>;
  /** Wrong claims of its tokens; undefined omits a claim. */
  idToken: Readonly<Record<string, unknown>>;
  accessToken: Readonly<Record<string, unknown>>;
  /** Tokens are signed by a foreign key with the same key id. */
  forged: boolean;
};

export type OidcProvider = {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The URL of its keys. */
  readonly jwks: string;
  readonly state: OidcProviderState;
  /** Every code and token that it issued; no log may contain them. */
  readonly given: readonly string[];
  /** The number of requests to each path. */
  readonly asked: ReadonlyMap<string, number>;
  /** A code for a sign-in with these parameters. */
  readonly codeFor: (begun: Begun) => string;
  readonly stop: () => Promise<void>;
};

/** The parameters of a sign-in, as the provider receives them. */
export type Begun = {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly nonce: string;
  readonly subject: string;
  readonly name?: string;
};

const usual = (): OidcProviderState => ({
  fate: 'answer',
  where: '',
  metadata: {},
  idToken: {},
  accessToken: {},
  forged: false,
});

const formOf = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString());
};

/** Client id and secret. Each is form-encoded before they are joined, because a secret may contain a colon. */
const basicOf = (authorization = ''): readonly string[] =>
  Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
    .toString()
    .split(':')
    .map((text) => new URLSearchParams(`of=${text}`).get('of') ?? '');

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (each) => `&#${String(each.charCodeAt(0))};`);

const loginPage = (query: URLSearchParams): string => `<!doctype html><html lang="en"><title>Login</title>
<h1>Example Login</h1>
<form method="post" action="login">
${[...query].map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`).join('\n')}
<label>User name <input name="user" autofocus></label>
<button name="answer" value="yes">Log in</button> <button name="answer" value="no">Cancel</button>
</form></html>`;

/**
 * A provider of OpenID Connect: it serves metadata and a sign-in page, redirects with a code, and
 * exchanges each code once for tokens, given the right verifier. The client is public unless it has a
 * secret.
 */
export const startOidcProvider = async ({ clientSecret = '' } = {}): Promise<OidcProvider> => {
  const state = usual();
  const clientId = 'holdpoint-console';
  const codes = new Map<string, Begun>();
  const given: string[] = [];
  const requestCounts = new Map<string, number>();
  const [own, other] = [await generateKeyPair('RS256'), await generateKeyPair('RS256')];
  const keys = { keys: [{ ...(await exportJWK(own.publicKey)), kid: 'one', use: 'sig', alg: 'RS256' }] };

  const codeFor = (begun: Begun): string => {
    const code = randomBytes(24).toString('base64url');
    codes.set(code, begun);
    given.push(code);
    return code;
  };
  const sign = async (claims: JWTPayload): Promise<string> => {
    const { privateKey } = state.forged ? other : own;
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(privateKey);
    given.push(token);
    return token;
  };

  const json = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const tokens = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = await formOf(request);
    const code = form.get('code') ?? '';
    const begun = codes.get(code);
    // A second use of a code is refused.
    codes.delete(code);
    const isClient =
      clientSecret === ''
        ? form.get('client_id') === clientId
        : isDeepStrictEqual(basicOf(request.headers.authorization), [clientId, clientSecret]);
    if (!isClient) return json(response, 401, { error: 'invalid_client' });
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (
      begun === undefined ||
      form.get('grant_type') !== 'authorization_code' ||
      form.get('redirect_uri') !== begun.redirectUri ||
      challenge !== begun.challenge
    )
      return json(response, 400, { error: 'invalid_grant', error_description: `no such code: ${code}` });
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: issuer, sub: begun.subject, groups: ['operators'], iat: now, exp: now + 600 };
    json(response, 200, {
      token_type: 'Bearer',
      expires_in: 600,
      id_token: await sign({ ...claims, aud: clientId, nonce: begun.nonce, ...state.idToken }),
      access_token: await sign({ ...claims, aud: 'an-api', ...state.accessToken }),
    });
  };
  const login = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = await formOf(request);
    const at = (name: string): string => form.get(name) ?? '';
    const back = new URL(at('redirect_uri'));
    back.searchParams.set('state', at('state'));
    if (at('answer') === 'no') back.searchParams.set('error', 'access_denied');
    else
      back.searchParams.set(
        'code',
        codeFor({
          redirectUri: at('redirect_uri'),
          challenge: at('code_challenge'),
          nonce: at('nonce'),
          subject: at('user'),
        }),
      );
    response.writeHead(303, { location: back.href }).end();
  };
  const answer = (path: string, url: URL, request: IncomingMessage, response: ServerResponse): void => {
    switch (path) {
      case '/.well-known/openid-configuration':
        return json(response, 200, {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
          code_challenge_methods_supported: ['S256'],
          ...state.metadata,
        });
      case '/keys':
        return json(response, 200, keys);
      case '/authorize': {
        const { searchParams: query } = url;
        const isWhole =
          query.get('client_id') === clientId &&
          query.get('response_type') === 'code' &&
          query.get('code_challenge_method') === 'S256';
        response
          .writeHead(isWhole ? 200 : 400, { 'content-type': 'text/html; charset=utf-8' })
          .end(isWhole ? loginPage(query) : 'wrong');
        return undefined;
      }
      case '/login':
        return void login(request, response);
      case '/token':
        return void tokens(request, response);
      default:
        return json(response, 404, {});
    }
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', issuer);
    const path = url.pathname;
    requestCounts.set(path, (requestCounts.get(path) ?? 0) + 1);
    if (state.fate === 'answer' || !path.includes(state.where)) return answer(path, url, request, response);
    switch (state.fate) {
      case 'away':
        return void request.socket.destroy();
      case 'silent':
        return undefined;
      case 'huge':
        return void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(`{"issuer":"${'x'.repeat(1_000_000)}"}`);
      case 'redirect':
        return void response.writeHead(302, { location: `${issuer}/elsewhere` }).end();
      case 'no-json':
        return void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Maintenance</h1>');
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return {
    issuer,
    clientId,
    clientSecret,
    jwks: `${issuer}/keys`,
    state,
    given,
    asked: requestCounts,
    codeFor,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** The state without faults. */
export const mend = (provider: OidcProvider): void => void Object.assign(provider.state, usual());
