import { createPrivateKey, type KeyObject } from 'node:crypto';
import { ConfigError, readEnv, readSecretFile, ServiceEnv } from '@holdpoint/runtime/config';
import { z } from 'zod';

export const ApprovalsEnv = ServiceEnv.extend({
  /** Ed25519 private key, PKCS#8 PEM: signs the grants. */
  HOLDPOINT_GRANT_KEY_FILE: z.string().min(1),
  /** JSON: who may decide, with the SHA-256 of their tokens. */
  HOLDPOINT_PRINCIPALS_FILE: z.string().min(1),
});

const Principals = z.object({
  principals: z
    .array(
      z.object({
        name: z.string().min(1).max(100),
        groups: z.array(z.string().min(1)),
        tokenSha256: z.string().regex(/^[0-9a-f]{64}$/, '64 hex digits'),
      }),
    )
    .min(1),
});
export type KnownPrincipal = z.infer<typeof Principals>['principals'][number];

export type ApprovalsConfig = {
  readonly env: z.infer<typeof ServiceEnv>;
  readonly grantKey: KeyObject;
  readonly principals: readonly KnownPrincipal[];
};

const readGrantKey = (path: string): KeyObject => {
  const pem = readSecretFile('HOLDPOINT_GRANT_KEY_FILE', path);
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch (cause) {
    throw new ConfigError('HOLDPOINT_GRANT_KEY_FILE: not a private key in PEM', { cause });
  }
  throw new ConfigError('HOLDPOINT_GRANT_KEY_FILE: not an Ed25519 key');
};

const readPrincipals = (path: string): readonly KnownPrincipal[] => {
  const text = readSecretFile('HOLDPOINT_PRINCIPALS_FILE', path);
  try {
    return Principals.parse(JSON.parse(text)).principals;
  } catch (error) {
    const problem = error instanceof z.ZodError ? z.prettifyError(error).replaceAll('\n', ' ') : 'not JSON';
    throw new ConfigError(`HOLDPOINT_PRINCIPALS_FILE: ${problem}`);
  }
};

export const readConfig = (environment: NodeJS.ProcessEnv): ApprovalsConfig => {
  const env = readEnv(ApprovalsEnv, environment);
  return {
    env,
    grantKey: readGrantKey(env.HOLDPOINT_GRANT_KEY_FILE),
    principals: readPrincipals(env.HOLDPOINT_PRINCIPALS_FILE),
  };
};
