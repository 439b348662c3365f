import { KEEP_MIN_DAYS } from '@holdpoint/contracts/api/retention';
import { z } from 'zod';
import type { AdminConnection } from './admin.ts';
import { ROLE_CONNECTIONS_MAX } from './roles.ts';

const Env = z.object({
  /**
   * An administrator who may create roles and databases, such as
   * `postgres://hp_admin@postgres:5432/postgres`.
   */
  HOLDPOINT_ADMIN_DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'a URL such as postgres://hp_admin@127.0.0.1:5432/postgres'),
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

export type ProvisionConfig = {
  readonly connection: Omit<AdminConnection, 'password'> & { readonly password?: string };
  readonly passwordFile: string | undefined;
  readonly credentialsDir: string;
  readonly waitMs: number;
  readonly keepDays: number | undefined;
  readonly roleConnectionsMax: number;
};

const DEFAULT_PORT = 5_432;

/** `sslmode` as libpq has it: anything but `disable` is encrypted, with the server's certificate checked. */
const usesTls = (url: URL): boolean => !['disable', null].includes(url.searchParams.get('sslmode'));

const connectionOf = (text: string): ProvisionConfig['connection'] => {
  const url = new URL(text);
  return {
    host: url.hostname,
    port: Number(url.port || DEFAULT_PORT),
    user: decodeURIComponent(url.username) || 'postgres',
    database: decodeURIComponent(url.pathname.slice(1)) || 'postgres',
    ssl: usesTls(url),
    ...(url.password !== '' && { password: decodeURIComponent(url.password) }),
  };
};

export class WrongSetting extends Error {
  override readonly name = 'WrongSetting';
}

/** Throws one line that names every variable that is wrong. */
export const readConfig = (environment: NodeJS.ProcessEnv): ProvisionConfig => {
  const { success, data, error } = Env.safeParse(environment);
  if (!success)
    throw new WrongSetting(
      error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
    );
  return {
    connection: connectionOf(data.HOLDPOINT_ADMIN_DATABASE_URL),
    passwordFile: data.HOLDPOINT_ADMIN_DATABASE_PASSWORD_FILE,
    credentialsDir: data.HOLDPOINT_CREDENTIALS,
    waitMs: data.HOLDPOINT_ADMIN_WAIT_MS,
    keepDays: data.HOLDPOINT_KEEP_DAYS,
    roleConnectionsMax: data.HOLDPOINT_ROLE_CONNECTIONS_MAX,
  };
};
