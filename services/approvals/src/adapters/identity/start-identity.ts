import { followFile } from '@holdpoint/runtime/follow-file';
import type { Logger } from '@holdpoint/runtime/log';
import type { Pool } from 'pg';
import { findToken } from '../../projections/tokens.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import { createIdentity } from './create-identity.ts';
import { createDirectory } from './directory.ts';
import type { Identity } from './identity.ts';
import { createOidcKeys } from './oidc-keys.ts';
import { createOidcTokens } from './oidc.ts';
import { type KnownPrincipal, parsePrincipals } from './principals-file.ts';
import type { IdentityEnv, OidcSettings } from './settings.ts';

export type IdentityConfig = {
  readonly env: Pick<IdentityEnv, 'HOLDPOINT_PRINCIPALS_FILE' | 'HOLDPOINT_ADMINISTRATORS'>;
  /** As the file had them when the service started. */
  readonly principals: readonly KnownPrincipal[];
  readonly oidc: OidcSettings | undefined;
};

export type RunningIdentity = Identity & {
  /** Who was not let in since the start, by kind. */
  readonly failures: Attempts['counted'];
  readonly stop: () => Promise<void>;
};

/** Knows people by the directory, by the tokens in the store and, where an issuer is set, by its own. Throws `ConfigError`. */
export const startIdentity = (
  { env, principals, oidc: settings }: IdentityConfig,
  pool: Pool,
  log: Logger,
): RunningIdentity => {
  const keys = settings && createOidcKeys(settings.jwks, log);
  const directory = followFile(
    {
      name: 'HOLDPOINT_PRINCIPALS_FILE',
      path: env.HOLDPOINT_PRINCIPALS_FILE,
      parse: (text) => createDirectory(parsePrincipals(text)),
    },
    createDirectory(principals),
    log,
  );
  const attempts = createAttempts(log);
  const identity = createIdentity({
    directory: directory.current,
    administrators: env.HOLDPOINT_ADMINISTRATORS,
    ...(settings && keys && { oidc: { ...createOidcTokens(settings, keys.keyOf), settings } }),
    findToken: (sha256) => findToken(pool, sha256),
    attempts,
  });
  return {
    ...identity,
    failures: attempts.counted,
    stop: async () => {
      await directory.stop();
      await keys?.stop();
    },
  };
};
