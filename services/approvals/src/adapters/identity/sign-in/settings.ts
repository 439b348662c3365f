import { ConfigError, readSecretFile } from '@holdpoint/runtime/service/config';
import { z } from 'zod';
import { isPlain } from '../principals/names.ts';
import { isSafeUrl, ListOf, type OidcSettings, orNothing } from '../oidc/settings.ts';

/** Characters of a scope in RFC 6749. */
const Scopes = z.array(z.string().regex(/^[!#-[\]-~]{1,200}$/)).max(50);

/** Settings of the OIDC sign-in on the console; off without a client id. */
export const SignInEnv = z.object({
  HOLDPOINT_OIDC_CLIENT_ID: orNothing(
    z
      .string()
      .max(500)
      .regex(/^[\u0021-\u007e]+$/, 'the id of a client, as its issuer has given it')
      .optional(),
  ).describe(
    'What the OIDC provider knows the [console](../console.md#signing-in-by-oidc) by. With it people sign in there by the login of the provider; without it, with a token alone',
  ),
  HOLDPOINT_OIDC_CLIENT_SECRET_FILE: orNothing(z.string().optional()).describe(
    "File with the client's secret, read again when it changes; none for a public client, which PKCE alone protects",
  ),
  HOLDPOINT_OIDC_CLIENT_SCOPES: orNothing(
    ListOf(
      Scopes.refine((scopes) => scopes.includes('openid')),
      'openid, and what else the issuer is to be asked for, with commas between them',
    ).default(['openid']),
  ).describe(
    'The scopes that a sign-in asks the provider for, with commas; many need one more for groups, such as `groups`',
  ),
  HOLDPOINT_OIDC_PROVIDER_NAME: orNothing(
    z.string().max(60).refine(isPlain, 'a name without characters that cannot be seen').optional(),
  ).describe("What the button calls the provider; the issuer's host when left out"),
});
export type SignInEnv = z.infer<typeof SignInEnv>;

export type SignInSettings = {
  /** Base of `/.well-known/openid-configuration`, and the `iss` of its tokens. */
  readonly issuer: string;
  readonly clientId: string;
  readonly secretFile: string | undefined;
  readonly scopes: readonly string[];
  readonly name: string;
};

const SECRET_FILE = 'HOLDPOINT_OIDC_CLIENT_SECRET_FILE';

/** Throws `ConfigError` without the content. */
const parseSecret = (text: string): string => {
  const secret = text.trimEnd();
  if (!/^[\u0020-\u007e]{1,1024}$/.test(secret))
    throw new ConfigError(`${SECRET_FILE}: the file holds no client secret`);
  return secret;
};

export const secretFileAt = (path: string) => ({ name: SECRET_FILE, path, parse: parseSecret });

/** Throws `ConfigError`. */
export const readClientSecret = (path: string): string => parseSecret(readSecretFile(SECRET_FILE, path));

/** Undefined when the OIDC sign-in is off. Throws `ConfigError`. */
export const signInSettings = (
  {
    HOLDPOINT_OIDC_CLIENT_ID: clientId,
    HOLDPOINT_OIDC_CLIENT_SECRET_FILE: secretFile,
    HOLDPOINT_OIDC_CLIENT_SCOPES: scopes,
    HOLDPOINT_OIDC_PROVIDER_NAME: name,
  }: SignInEnv,
  oidc: Pick<OidcSettings, 'issuer'> | undefined,
): SignInSettings | undefined => {
  if (clientId === undefined) {
    if (secretFile === undefined) return undefined;
    throw new ConfigError(`HOLDPOINT_OIDC_CLIENT_ID: needed beside ${SECRET_FILE}`);
  }
  if (oidc === undefined)
    throw new ConfigError('HOLDPOINT_OIDC_ISSUER: needed beside HOLDPOINT_OIDC_CLIENT_ID');
  const { issuer } = oidc;
  const url = URL.parse(issuer);
  // An attacker on an insecure connection could redirect users anywhere.
  if (url === null || !isSafeUrl(issuer) || url.search !== '' || url.hash !== '')
    throw new ConfigError(
      'HOLDPOINT_OIDC_ISSUER: for a sign-in it has to be an https URL, or an http URL of this machine',
    );
  if (secretFile !== undefined) readClientSecret(secretFile);
  return { issuer, clientId, secretFile, scopes, name: name ?? url.host };
};
