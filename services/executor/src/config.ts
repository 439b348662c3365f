import { createPublicKey, type KeyObject } from 'node:crypto';
import { TOKEN } from '@holdpoint/contracts/ids';
import { DEFAULT_POOL } from '@holdpoint/contracts/streams';
import { ConfigError, readEnv, readSecretFile, ServiceEnv } from '@holdpoint/runtime/config';
import { z } from 'zod';

export const ExecutorEnv = ServiceEnv.extend({
  /** The approvals service's public keys, SPKI PEM; several while one replaces another. */
  HOLDPOINT_GRANT_PUBLIC_KEYS_FILE: z.string().min(1),
  /** The folder that file effects are confined to. */
  HOLDPOINT_WORKSPACE: z.string().min(1),
  HOLDPOINT_POOL: z.string().regex(TOKEN, 'letters, digits, - and _').default(DEFAULT_POOL),
  /** Effects carried out at the same time; what comes beyond waits in the ledger. */
  HOLDPOINT_EFFECTS_MAX: z.coerce.number().int().min(1).max(10_000).default(1_000),
});

export type ExecutorConfig = {
  readonly env: z.infer<typeof ServiceEnv>;
  readonly grantKeys: readonly KeyObject[];
  readonly workspace: string;
  readonly pool: string;
  readonly effectsMax: number;
};

const publicKeyOf = (pem: string): KeyObject => {
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch (cause) {
    throw new ConfigError('HOLDPOINT_GRANT_PUBLIC_KEYS_FILE: not a public key in PEM', { cause });
  }
  throw new ConfigError('HOLDPOINT_GRANT_PUBLIC_KEYS_FILE: not an Ed25519 key');
};

const readPublicKeys = (path: string): readonly KeyObject[] => {
  const pem = readSecretFile('HOLDPOINT_GRANT_PUBLIC_KEYS_FILE', path);
  const blocks = pem.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g) ?? [];
  if (blocks.length === 0) throw new ConfigError('HOLDPOINT_GRANT_PUBLIC_KEYS_FILE: no public key in PEM');
  return blocks.map(publicKeyOf);
};

export const readConfig = (environment: NodeJS.ProcessEnv): ExecutorConfig => {
  const env = readEnv(ExecutorEnv, environment);
  return {
    env,
    grantKeys: readPublicKeys(env.HOLDPOINT_GRANT_PUBLIC_KEYS_FILE),
    workspace: env.HOLDPOINT_WORKSPACE,
    pool: env.HOLDPOINT_POOL,
    effectsMax: env.HOLDPOINT_EFFECTS_MAX,
  };
};
