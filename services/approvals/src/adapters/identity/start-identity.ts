import { followFile } from '@holdpoint/runtime/service/follow-file';
import { isAmong, type Member } from '@holdpoint/contracts/workflow/audience';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Pool } from 'pg';
import { findToken } from '../../queries/tokens.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import { createIdentity } from './create-identity.ts';
import { createDirectory, type Directory } from './principals/directory.ts';
import type { Identity } from './identity.ts';
import { createOidcKeys } from './oidc/keys.ts';
import { createOidcTokens, looksLikeJwt, personOf } from './oidc/tokens.ts';
import { type KnownPrincipal, parsePrincipals } from './principals/principals-file.ts';
import type { IdentityEnv, OidcSettings } from './oidc/settings.ts';
import { createOidcProvider } from './oidc/provider.ts';
import { createSignIn, type SignIn } from './sign-in/sign-in.ts';
import { readClientSecret, secretFileAt, type SignInSettings } from './sign-in/settings.ts';
import { followStoredPeople } from './stored-people.ts';
import { createTokenUses } from './token-uses.ts';
import type { StoredPerson, Surroundings } from '../../people/people.ts';

export type IdentityConfig = {
  readonly env: Pick<IdentityEnv, 'HOLDPOINT_PRINCIPALS_FILE' | 'HOLDPOINT_ADMINISTRATORS'>;
  /** Content of the file when the service started. */
  readonly principals: readonly KnownPrincipal[];
  readonly oidc: OidcSettings | undefined;
  readonly signIn: SignInSettings | undefined;
};

export type RunningIdentity = Identity & {
  /** Failed authentications since the start, by kind. */
  readonly failures: Attempts['counted'];
  readonly attempts: Attempts;
  /** The sign-in through the issuer, if configured. */
  readonly signIn: SignIn | undefined;
  /** The people of the directory; undefined where an identity provider says more about them. */
  readonly people: () => readonly Member[] | undefined;
  readonly storedPeople: () => readonly StoredPerson[];
  /** The file and the store together. */
  readonly directory: () => Directory;
  /** What a change of this person depends on beside the store. */
  readonly around: (name: string) => Surroundings;
  /** Reads the people of the store now. Throws `RUNTIME_UNAVAILABLE`. */
  readonly refreshPeople: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** Authenticates by the directory, by stored tokens and, if configured, by OIDC. Throws `ConfigError`. */
export const startIdentity = (
  { env, principals, oidc: settings, signIn: asked }: IdentityConfig,
  pool: Pool,
  log: Logger,
): RunningIdentity => {
  const keys = settings && createOidcKeys(settings.jwks, log);
  const file = followFile(
    { name: 'HOLDPOINT_PRINCIPALS_FILE', path: env.HOLDPOINT_PRINCIPALS_FILE, parse: parsePrincipals },
    principals,
    log,
  );
  const stored = followStoredPeople(pool, log);
  const uses = createTokenUses(pool, log);
  let made = { of: [principals, stored.current()] as const, directory: createDirectory(principals) };
  const directory = (): Directory => {
    const [listed, kept] = [file.current(), stored.current()];
    if (made.of[0] !== listed || made.of[1] !== kept)
      made = { of: [listed, kept], directory: createDirectory(listed, kept) };
    return made.directory;
  };
  const attempts = createAttempts(log);
  const oidc = settings && keys && { ...createOidcTokens(settings, keys.keyOf), settings };
  const identity = createIdentity({
    directory,
    administrators: env.HOLDPOINT_ADMINISTRATORS,
    oidc,
    findToken: (sha256) => findToken(pool, sha256),
    catchUp: stored.catchUp,
    // Sessions are short, and many.
    onUse: ({ id, isSession }) => isSession || uses.note(id),
    attempts,
  });
  const secretFile = asked?.secretFile;
  const secret = secretFile && followFile(secretFileAt(secretFile), readClientSecret(secretFile), log);
  const subjectOf = async (token: string): Promise<string | undefined> => {
    const claims = looksLikeJwt(token) ? await oidc?.claimsOf(token) : undefined;
    const isSomebody = claims && oidc && personOf(claims, oidc.settings, directory()) !== undefined;
    return isSomebody ? claims.sub : undefined;
  };
  const signIn =
    asked &&
    keys &&
    createSignIn({
      settings: asked,
      provider: createOidcProvider(asked, () => (secret ? secret.current() : undefined), log),
      idTokens: createOidcTokens({ issuer: asked.issuer, audience: [asked.clientId] }, keys.keyOf),
      subjectOf,
      attempts,
      log,
    });
  return {
    ...identity,
    failures: attempts.counted,
    attempts,
    people: () => (settings === undefined ? directory().people : undefined),
    directory,
    storedPeople: stored.current,
    around: (name) => ({
      isInFile: directory().isInFile(name),
      administrators: env.HOLDPOINT_ADMINISTRATORS,
      // A provider of identities may name administrators too.
      hasOtherAdministrators:
        settings !== undefined ||
        file.current().some((person) => isAmong(env.HOLDPOINT_ADMINISTRATORS, person)),
    }),
    refreshPeople: stored.refresh,
    signIn,
    stop: async () => {
      await file.stop();
      await stored.stop();
      await uses.stop();
      await keys?.stop();
      if (secret) await secret.stop();
    },
  };
};
