import { z } from 'zod';
import { HoldpointError } from '../values/errors.ts';
import { type Nkey, nkeyOf } from './nkey.ts';

/** The content of a login file: an nkey seed, or `.creds` with a user JWT and its seed. A function reads it again. */
export type LoginText = Uint8Array | (() => Uint8Array);

/** Answers the nonce of a server, as the NATS client asks for. */
export type NatsLogin = (nonce?: string) => {
  /** Of `.creds`. */
  readonly jwt?: string;
  readonly nkey: string;
  readonly sig: string;
};

/** Longest accepted login file. */
export const LOGIN_MAX_BYTES = 65_536;

const CREDS = /^-{3,}BEGIN NATS USER JWT-{3,}\r?$/m;
const JWT = /^-{3,}BEGIN NATS USER JWT-{3,}\s+([\w-]+\.[\w-]+\.[\w-]+)\s/m;
const SEED = /^-{3,}BEGIN USER NKEY SEED-{3,}\s+(\w+)\s/m;

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

const jwtIn = (text: string): { readonly jwt: string; readonly claims: z.infer<typeof UserClaims> } => {
  try {
    const [, jwt = ''] = JWT.exec(text) ?? [];
    const [, payload = ''] = jwt.split('.');
    return {
      jwt,
      claims: UserClaims.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))),
    };
  } catch {
    // The cause would quote the file.
    throw invalid('the .creds hold no JWT of a NATS user: export them again');
  }
};

/** The lines of a login that no output may show: the seed, and the JWT of `.creds`. */
export const loginSecrets = (text: string): readonly string[] =>
  text.split(/\r?\n/).flatMap((line) => {
    const value = line.trim();
    return /^[\w-]+(?:\.[\w-]+){2}$|^SU\w+$/.test(value) ? [value] : [];
  });

const userKey = (seed: string): Nkey => {
  try {
    const key = nkeyOf(seed);
    if (key.publicKey.startsWith('U')) return key;
  } catch {
    // The cause would quote the file.
  }
  throw invalid(NO_LOGIN);
};

type ReadLogin = {
  readonly answer: NatsLogin;
  /** In milliseconds; undefined for a login without an end. */
  readonly end: number | undefined;
};

const loginIn = (content: Uint8Array): ReadLogin => {
  if (content.byteLength > LOGIN_MAX_BYTES) throw invalid(NO_LOGIN);
  const text = new TextDecoder().decode(content);
  const creds = CREDS.test(text) ? jwtIn(text) : undefined;
  // The last line may lack its end.
  const seed = creds === undefined ? text.trim() : SEED.exec(`${text}\n`)?.[1];
  const { publicKey, sign } = userKey(seed ?? '');
  if (creds !== undefined && publicKey !== creds.claims.sub)
    throw invalid('the seed of the .creds is not that of their JWT: export them again');
  const { exp = 0 } = creds?.claims ?? {};
  return {
    answer: (nonce = '') => ({
      ...(creds !== undefined && { jwt: creds.jwt }),
      nkey: publicKey,
      sig: sign(Buffer.from(nonce)).toString('base64url'),
    }),
    end: exp === 0 ? undefined : exp * 1_000,
  };
};

/**
 * Authenticates with an nkey seed or with `.creds`, recognised by content. Given a function, it reads the login again at each
 * connection, so that a renewed file needs no restart. Throws `BUS_LOGIN_INVALID` or `BUS_LOGIN_EXPIRED`, without any part of
 * the content.
 */
export const natsLogin = (login: LoginText, now: number = Date.now()): NatsLogin => {
  const read = typeof login === 'function' ? login : () => login;
  let current = loginIn(read());
  const { end } = current;
  if (end !== undefined && end <= now)
    throw new HoldpointError(
      'BUS_LOGIN_EXPIRED',
      `the JWT of the .creds expired at ${new Date(end).toISOString()}: renew the file`,
    );
  return (nonce) => {
    try {
      current = loginIn(read());
    } catch {
      // A file that is being replaced: the server judges the previous login, and the next connection reads again.
    }
    return current.answer(nonce);
  };
};
