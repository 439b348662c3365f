import { z } from 'zod';
import { HoldpointError } from '../values/errors.ts';

/** The content of a login file: an nkey seed, or `.creds` with a user JWT and its seed. A function reads it again. */
export type LoginText = Uint8Array | (() => Uint8Array);

/** The functions of the NATS client with these names. */
export type Authenticators<Answer> = {
  readonly nkeyAuthenticator: (seed: Uint8Array) => (nonce?: string) => Answer;
  readonly credsAuthenticator: (creds: Uint8Array) => (nonce?: string) => Answer;
};

/** Longest accepted login file. */
export const LOGIN_MAX_BYTES = 65_536;

const CREDS = /^-{3,}BEGIN NATS USER JWT-{3,}\r?$/m;
const JWT = /^-{3,}BEGIN NATS USER JWT-{3,}\s+([\w-]+)\.([\w-]+)\.([\w-]+)\s/m;

/** The claims of a user JWT that Holdpoint reads. */
const UserClaims = z.object({
  name: z.string().default(''),
  sub: z.string(),
  /** In seconds. Absent or 0: never. */
  exp: z.number().optional(),
  nats: z.object({ type: z.literal('user') }),
});

const invalid = (message: string): HoldpointError => new HoldpointError('BUS_LOGIN_INVALID', message);

const NO_LOGIN = 'the login file holds neither an nkey seed nor .creds: export it again';

const claimsIn = (text: string): z.infer<typeof UserClaims> => {
  try {
    const [, , payload = ''] = JWT.exec(text) ?? [];
    return UserClaims.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
  } catch {
    // The cause would quote the file.
    throw invalid('the .creds hold no JWT of a NATS user: export them again');
  }
};

/** Time at which the login ends, in milliseconds; undefined for one without an end. */
export const loginEnd = (content: Uint8Array): number | undefined => {
  const text = new TextDecoder().decode(content);
  if (!CREDS.test(text)) return undefined;
  const { exp } = claimsIn(text);
  return exp === undefined || exp === 0 ? undefined : exp * 1_000;
};

/** The lines of a login that no output may show: the seed, and the JWT of `.creds`. */
export const loginSecrets = (text: string): readonly string[] =>
  text.split(/\r?\n/).flatMap((line) => {
    const value = line.trim();
    return /^[\w-]+(?:\.[\w-]+){2}$|^SU\w+$/.test(value) ? [value] : [];
  });

const Signed = z.object({ nkey: z.string() });

const checkedBy = <A>(
  content: Uint8Array,
  { nkeyAuthenticator, credsAuthenticator }: Authenticators<A>,
): ((nonce?: string) => A) => {
  if (content.byteLength > LOGIN_MAX_BYTES) throw invalid(NO_LOGIN);
  const text = new TextDecoder().decode(content);
  const isCreds = CREDS.test(text);
  const claims = isCreds ? claimsIn(text) : undefined;
  // The client reads the last line only with a line end.
  const bytes = new TextEncoder().encode(isCreds ? `${text.replaceAll('\r\n', '\n')}\n` : text.trim());
  const authenticator = isCreds ? credsAuthenticator(bytes) : nkeyAuthenticator(bytes);
  let signed: z.infer<typeof Signed>;
  try {
    signed = Signed.parse(authenticator('nonce'));
  } catch {
    throw invalid(NO_LOGIN);
  }
  if (claims !== undefined && signed.nkey !== claims.sub)
    throw invalid('the seed of the .creds is not that of their JWT: export them again');
  return authenticator;
};

/**
 * Authenticates with an nkey seed or with `.creds`, recognised by content. Given a function, it reads the login again at each
 * connection, so that a renewed file needs no restart. Throws `BUS_LOGIN_INVALID` or `BUS_LOGIN_EXPIRED`, without any part of
 * the content.
 */
export const natsLogin = <A>(
  login: LoginText,
  authenticators: Authenticators<A>,
  now: number = Date.now(),
): ((nonce?: string) => A) => {
  const read = typeof login === 'function' ? login : () => login;
  const content = read();
  let current = checkedBy(content, authenticators);
  const end = loginEnd(content);
  if (end !== undefined && end <= now)
    throw new HoldpointError(
      'BUS_LOGIN_EXPIRED',
      `the JWT of the .creds expired at ${new Date(end).toISOString()}: renew the file`,
    );
  return (nonce) => {
    try {
      current = checkedBy(read(), authenticators);
    } catch {
      // A file that is being replaced: the server judges the previous login, and the next connection reads again.
    }
    return current(nonce);
  };
};
