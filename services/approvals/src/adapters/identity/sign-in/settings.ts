import { ADVANCED, ConfigError, readSecretFile } from '@holdpoint/runtime/service/config';
import { z } from 'zod';
import { isPlainText } from '@holdpoint/contracts/values/person';
import { isSafeUrl, ListOf, type OidcSettings, orNothing } from '../oidc/settings.ts';

/** Characters of a scope in RFC 6749. */
const Scopes = z.array(z.string().regex(/^[!#-[\]-~]{1,200}$/)).max(50);

/** Settings of the OIDC sign-in on the console; off without a client id. */
export const SignInEnv = z.object({
  HOLDPOINT_OIDC_CLIENT_ID: orNothing(
    z
      .string()
      .max(500)
      .regex(/^[\u0021-\u007e]+$/, 'the client id that the issuer assigned')
      .optional(),
  ).describe(
    'Client id of the [console](../console.md#signing-in-by-oidc) at the OIDC provider. With it users sign in through the provider; without it they need a token',
  ),
  HOLDPOINT_OIDC_CLIENT_SECRET_FILE: orNothing(z.string().optional()).describe(
    "File with the client's secret, read again when it changes; unset for a public client, which PKCE alone protects",
  ),
  HOLDPOINT_OIDC_CLIENT_SCOPES: orNothing(
    ListOf(
      Scopes.refine((scopes) => scopes.includes('openid')),
      'openid and further scopes, comma-separated',
    ).default(['openid']),
  )
    .describe(
      'Scopes that a sign-in requests, comma-separated; many providers need one more for groups, such as `groups`',
    )
    .meta(ADVANCED),
  HOLDPOINT_OIDC_PROVIDER_NAME: orNothing(
    z.string().max(60).refine(isPlainText, 'a name without invisible characters').optional(),
  )
    .describe("Provider name on the sign-in button; default: the issuer's host")
    .meta(ADVANCED),
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
    throw new ConfigError(`${SECRET_FILE}: the file contains no client secret`);
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
    throw new ConfigError(`HOLDPOINT_OIDC_CLIENT_ID: required with ${SECRET_FILE}`);
  }
  if (oidc === undefined)
    throw new ConfigError('HOLDPOINT_OIDC_ISSUER: required with HOLDPOINT_OIDC_CLIENT_ID');
  const { issuer } = oidc;
  const url = URL.parse(issuer);
  // An attacker on an insecure connection could redirect users anywhere.
  if (url === null || !isSafeUrl(issuer) || url.search !== '' || url.hash !== '')
    throw new ConfigError(
      'HOLDPOINT_OIDC_ISSUER: the sign-in needs an https URL, or an http URL of localhost',
    );
  if (secretFile !== undefined) readClientSecret(secretFile);
  return { issuer, clientId, secretFile, scopes, name: name ?? url.host };
};
