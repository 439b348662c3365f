import { readFile } from 'node:fs/promises';
import { KEEP_MIN_DAYS } from '@holdpoint/contracts/api/retention';
import { ConfigError } from '@holdpoint/contracts/values/settings';
import { z } from 'zod';
import { adminRole } from '../credentials/layout.ts';
import { readPostgresPassword } from '../credentials/read.ts';
import type { AdminConnection } from './admin.ts';
import type { ProvisionOptions } from './provision.ts';
import { ROLE_CONNECTIONS_MAX } from './roles.ts';

const Env = z.object({
  /**
   * An administrator who may create roles and databases, such as
   * `postgres://hp_admin@postgres:5432/postgres`.
   */
  HOLDPOINT_ADMIN_DATABASE_URL: z
    .string()
    .refine(
      (text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text),
      'a URL such as postgres://hp_admin@127.0.0.1:5432/postgres',
    ),
  /** Instead of a password in the URL; without either it is hp_admin's of the credentials folder. */
  HOLDPOINT_ADMIN_DATABASE_PASSWORD_FILE: z.string().min(1).optional(),
  HOLDPOINT_CREDENTIALS: z.string().min(1),
  HOLDPOINT_ADMIN_WAIT_MS: z.coerce.number().int().min(0).max(600_000).default(60_000),
  /** Maximum connections of each service's role over all replicas: eight per replica. */
  HOLDPOINT_ROLE_CONNECTIONS_MAX: z.coerce.number().int().min(8).max(10_000).default(ROLE_CONNECTIONS_MAX),
  /** Retention of ended aggregates, in days. The database refuses unsafe values. */
  HOLDPOINT_KEEP_DAYS: z
    .literal('')
    .transform(() => undefined)
    .or(z.coerce.number().int().min(KEEP_MIN_DAYS).max(36_500))
    .optional(),
});

const DEFAULT_PORT = 5_432;

/** `sslmode` as libpq has it: anything but `disable` is encrypted, with the server's certificate checked. */
const usesTls = (url: URL): boolean => !['disable', null].includes(url.searchParams.get('sslmode'));

const connectionOf = (url: URL): Omit<AdminConnection, 'password'> => ({
  host: url.hostname,
  port: Number(url.port || DEFAULT_PORT),
  user: decodeURIComponent(url.username) || 'postgres',
  database: decodeURIComponent(url.pathname.slice(1)) || 'postgres',
  ssl: usesTls(url),
});

const passwordOf = async (url: URL, file: string | undefined, credentialsDir: string): Promise<string> => {
  if (file !== undefined)
    try {
      return (await readFile(file, 'utf8')).trim();
    } catch (cause) {
      throw new ConfigError('HOLDPOINT_ADMIN_DATABASE_PASSWORD_FILE: the file cannot be read', { cause });
    }
  return decodeURIComponent(url.password) || readPostgresPassword(credentialsDir, adminRole);
};

/** Throws `ConfigError` with one line that names every variable that is wrong. */
export const readConfig = async (environment: NodeJS.ProcessEnv): Promise<Omit<ProvisionOptions, 'root'>> => {
  const { success, data, error } = Env.safeParse(environment);
  if (!success)
    throw new ConfigError(
      error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
    );
  const url = new URL(data.HOLDPOINT_ADMIN_DATABASE_URL);
  const credentialsDir = data.HOLDPOINT_CREDENTIALS;
  const password = await passwordOf(url, data.HOLDPOINT_ADMIN_DATABASE_PASSWORD_FILE, credentialsDir);
  return {
    admin: { ...connectionOf(url), password },
    credentialsDir,
    waitMs: data.HOLDPOINT_ADMIN_WAIT_MS,
    keepDays: data.HOLDPOINT_KEEP_DAYS,
    roleConnectionsMax: data.HOLDPOINT_ROLE_CONNECTIONS_MAX,
  };
};
