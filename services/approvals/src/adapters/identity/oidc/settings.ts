import { isAbsolute } from 'node:path';
import { Scope } from '@holdpoint/contracts/approval/access-token';
import { Audience } from '@holdpoint/contracts/workflow/audience';
import { ADVANCED, ConfigError } from '@holdpoint/runtime/service/config';
import { z } from 'zod';

const split = (text: string): readonly string[] =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');

/** Empty counts as unset: files of settings have empty values. */
export const orNothing = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((text) => (text === '' ? undefined : text), schema);

/** A list separated by commas. Reports one problem, however many entries are wrong. */
export const ListOf = <Members>(schema: z.ZodType<Members>, expected: string) =>
  z.string().transform((text, context): Members => {
    const { success, data } = schema.safeParse(split(text));
    if (success) return data;
    context.addIssue(expected);
    return z.NEVER;
  });

const isHere = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(host);

/** Keys from an insecure URL would let an attacker impersonate anyone: it must be https, or this machine. */
export const isSafeUrl = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isHere(url.hostname)));
};

/**
 * Scopes of OIDC tokens exclude `tokens:write`, because tokens outlast the person's account, and operating
 * the system, removing executors, changing people, registering capabilities, carrying out effects, and starting tasks, whose
 * inputs decide what executors run.
 */
const NOT_FOR_EVERYBODY: readonly Scope[] = [
  'tokens:write',
  'operations:write',
  'tasks:submit',
  'executors:write',
  'people:write',
  'capabilities:write',
  'effects:claim',
];
const OIDC_SCOPES = Scope.options.filter((scope) => !NOT_FOR_EVERYBODY.includes(scope));

const Claim = (claim: string) => orNothing(z.string().max(200).default(claim));

/** Settings of the directory, administrators and OIDC. */
export const IdentityEnv = z.object({
  HOLDPOINT_PRINCIPALS_FILE: z
    .string()
    .min(1)
    .describe(
      'People as configuration, beside [those of the store](../approvals.md#people): `{"principals":[{"name","groups","roles","tokenSha256","discord","oidc"}]}`, of which `name` and `groups` are needed. Read again within seconds of a change; a broken file is logged, and the last valid content stays',
    ),
  HOLDPOINT_ADMINISTRATORS: orNothing(
    ListOf(Audience, 'groups, user:<name> or role:<name>, comma-separated').default(['operators']),
  ).describe(
    'Administrators, who may change people, and create and revoke tokens and rules of others; comma-separated groups, `user:<name>`, `role:<name>`',
  ),
  HOLDPOINT_OIDC_ISSUER: orNothing(
    z.string().max(500).regex(/^\S+$/, 'the issuer, equal to `iss` in its tokens').optional(),
  ).describe(
    'Issuer of accepted OIDC tokens, equal to their `iss`. Set it together with the audience and the keys',
  ),
  HOLDPOINT_OIDC_AUDIENCE: orNothing(
    ListOf(z.array(z.string().max(500)).min(1).max(20), 'up to 20 names, comma-separated').optional(),
  ).describe('Accepted `aud` values, comma-separated'),
  HOLDPOINT_OIDC_JWKS: orNothing(
    z
      .string()
      .refine(
        (text) => isAbsolute(text) || isSafeUrl(text),
        'an https URL, an http URL of localhost, or the absolute path of a file',
      )
      .optional(),
  ).describe(
    "The issuer's public keys: an https URL, or the absolute path of a file, which is read again when it changes",
  ),
  HOLDPOINT_OIDC_GROUPS_CLAIM: Claim('groups').describe("Claim with a person's groups").meta(ADVANCED),
  HOLDPOINT_OIDC_NAME_CLAIM: Claim('sub')
    .describe(
      'Claim with the name of the person, who appears as `oidc:<name>` unless the directory lists the `sub` under `oidc`',
    )
    .meta(ADVANCED),
  HOLDPOINT_OIDC_SCOPES: orNothing(
    ListOf(z.array(Scope).min(1), Scope.options.join(', ')).default(OIDC_SCOPES),
  )
    .describe('Scopes of OIDC tokens, comma-separated')
    .meta(ADVANCED),
});
export type IdentityEnv = z.infer<typeof IdentityEnv>;

export type OidcSettings = {
  readonly issuer: string;
  readonly audience: readonly string[];
  /** A URL, or the absolute path of a file. */
  readonly jwks: string;
  readonly groupsClaim: string;
  readonly nameClaim: string;
  readonly scopes: readonly Scope[];
};

/** Undefined when OIDC is not configured. Throws `ConfigError` when only a part is set. */
export const oidcSettings = (env: IdentityEnv): OidcSettings | undefined => {
  const {
    HOLDPOINT_OIDC_ISSUER: issuer,
    HOLDPOINT_OIDC_AUDIENCE: audience,
    HOLDPOINT_OIDC_JWKS: jwks,
    HOLDPOINT_OIDC_GROUPS_CLAIM: groupsClaim,
    HOLDPOINT_OIDC_NAME_CLAIM: nameClaim,
    HOLDPOINT_OIDC_SCOPES: scopes,
  } = env;
  if (issuer !== undefined && audience !== undefined && jwks !== undefined)
    return { issuer, audience, jwks, groupsClaim, nameClaim, scopes };
  const needed = {
    HOLDPOINT_OIDC_ISSUER: issuer,
    HOLDPOINT_OIDC_AUDIENCE: audience,
    HOLDPOINT_OIDC_JWKS: jwks,
  };
  const missing = Object.entries(needed).filter(([, value]) => value === undefined);
  if (missing.length === Object.keys(needed).length) return undefined;
  throw new ConfigError(missing.map(([name]) => `${name}: required with the other OIDC settings`).join('; '));
};
