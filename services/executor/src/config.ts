import { createPublicKey, type KeyObject } from 'node:crypto';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { TOKEN } from '@holdpoint/contracts/ids';
import { DEFAULT_POOL } from '@holdpoint/contracts/streams';
import { ConfigError, readEnv, readSecretFile, ServiceEnv } from '@holdpoint/runtime/config';
import { z } from 'zod';
import type { Retention } from './adapters/journal-segments.ts';
import type { HttpTargets } from './capabilities/http-request.ts';

const isOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  // A star is a letter like any other in the name of a host: it allows nothing, whatever was meant by it.
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text && !text.includes('*');
};

/** Exact origins with commas between them; a slash at the end is one too many, because it is not part of an origin. */
const Origins = z
  .string()
  .transform((text) => (text === '' ? [] : text.split(',').map((part) => part.trim())))
  .refine(
    (origins) => origins.every(isOrigin),
    'origins such as https://api.example:8443, with commas between them',
  )
  .transform((origins): ReadonlySet<string> => new Set(origins))
  .default(new Set());

export const ExecutorEnv = ServiceEnv.extend({
  /** The approvals service's public keys, SPKI PEM; several while one replaces another. */
  HOLDPOINT_GRANT_PUBLIC_KEYS_FILE: z.string().min(1),
  /** The folder that file effects are confined to. */
  HOLDPOINT_WORKSPACE: z.string().min(1),
  /** The folder of the journals: on this machine's own disk, and in no backup. Beside the workspace, when left out. */
  HOLDPOINT_JOURNAL: z.string().min(1).optional(),
  /** How far back the journal reaches: no backup older than that is restored without a person's word. */
  HOLDPOINT_JOURNAL_DAYS: z.coerce.number().min(1).max(3_650).default(7),
  HOLDPOINT_JOURNAL_MAX_MIB: z.coerce.number().int().min(16).max(1_048_576).default(1_024),
  HOLDPOINT_POOL: z.string().regex(TOKEN, 'letters, digits, - and _').default(DEFAULT_POOL),
  /** Effects carried out at the same time; what comes beyond waits in the ledger. */
  HOLDPOINT_EFFECTS_MAX: z.coerce.number().int().min(1).max(10_000).default(1_000),
  /** Where HTTP requests may go of which the target remembers nothing; and where to, of which it remembers the key. */
  HOLDPOINT_HTTP_TARGETS: Origins,
  HOLDPOINT_HTTP_KEYED_TARGETS: Origins,
});

export type ExecutorConfig = {
  readonly env: z.infer<typeof ServiceEnv>;
  readonly grantKeys: readonly KeyObject[];
  readonly workspace: string;
  readonly journal: { readonly folder: string } & Retention;
  readonly pool: string;
  readonly effectsMax: number;
  readonly http: HttpTargets;
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

const DAY_MS = 86_400_000;
const MIB = 1_048_576;

/** Whether a path is a folder, or lies in it. Both are absolute. */
export const contains = (folder: string, path: string): boolean => {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};

/** An effect that could write the journal could make itself unheard of. */
const journalFolder = (workspace: string, journal = `${resolve(workspace)}.journal`): string => {
  const folder = resolve(journal);
  if (contains(resolve(workspace), folder))
    throw new ConfigError('HOLDPOINT_JOURNAL: inside the workspace, where effects write');
  return folder;
};

export const readConfig = (environment: NodeJS.ProcessEnv): ExecutorConfig => {
  const env = readEnv(ExecutorEnv, environment);
  return {
    env,
    grantKeys: readPublicKeys(env.HOLDPOINT_GRANT_PUBLIC_KEYS_FILE),
    workspace: env.HOLDPOINT_WORKSPACE,
    journal: {
      folder: journalFolder(env.HOLDPOINT_WORKSPACE, env.HOLDPOINT_JOURNAL),
      keepMs: env.HOLDPOINT_JOURNAL_DAYS * DAY_MS,
      maxBytes: env.HOLDPOINT_JOURNAL_MAX_MIB * MIB,
    },
    pool: env.HOLDPOINT_POOL,
    effectsMax: env.HOLDPOINT_EFFECTS_MAX,
    http: { targets: env.HOLDPOINT_HTTP_TARGETS, keyedTargets: env.HOLDPOINT_HTTP_KEYED_TARGETS },
  };
};
