import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type LoginText, natsLogin } from '@holdpoint/contracts/bus/nats-login';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { ConfigError, formerSettings } from '@holdpoint/contracts/values/settings';
import { z } from 'zod';
import { CRASH_POINTS } from '../engine/ports.ts';

export { ConfigError };

/** A setting that is a whole number in a range. */
export const wholeNumber = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

/** Marks a setting whose default fits almost every deployment. The reference lists it apart. */
export const ADVANCED = { use: 'advanced' } as const;

/** Marks a setting that only tests use. */
export const FOR_TESTS = { use: 'tests' } as const;

/** Database connections of each service in a process, unless a setting says otherwise. */
export const CONNECTIONS_MAX = 8;

/** The settings of every service. */
export const ServiceEnv = z.object({
  HOLDPOINT_NATS_URL: z
    .string()
    .regex(/^(nats|tls):\/\//, 'a URL such as nats://127.0.0.1:4222')
    .describe('NATS servers: `nats://host:port` or `tls://host:port`, comma-separated'),
  HOLDPOINT_NATS_SEED_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      "File with the nkey seed or the `.creds` of the service's bus user; read again at each connection",
    ),
  HOLDPOINT_DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'a URL such as postgres://hp_orchestrator@127.0.0.1:5432/holdpoint')
    .describe('PostgreSQL database and role: `postgres://hp_<service>@host:port/holdpoint`'),
  HOLDPOINT_DATABASE_PASSWORD_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('File with the password of the database role'),
  HOLDPOINT_DATABASE_CONNECTIONS_MAX: wholeNumber(3, 64)
    .default(CONNECTIONS_MAX)
    .describe('Maximum number of database connections of each service in a process')
    .meta(ADVANCED),
  HOLDPOINT_TRUST_FILE: z
    .string()
    .min(1)
    .describe('File with the public keys of the services, `trust.json`; read again when it changes'),
  HOLDPOINT_HTTP_HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe(
      'Listen address of the HTTP port: health and metrics, and for approvals also API, WebSocket and console',
    ),
  HOLDPOINT_HTTP_PORT: wholeNumber(0, 65_535).default(0).describe('HTTP port; 0 selects a free port'),
  HOLDPOINT_METRICS_PORT: z
    .preprocess((text) => (text === '' ? undefined : text), wholeNumber(0, 65_535).optional())
    .describe('Port of `/metrics` alone; 0 selects a free port. Unset: the HTTP port')
    .meta(ADVANCED),
  HOLDPOINT_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Lowest level that is logged: `debug`, `info`, `warn`, `error` or `silent`'),
  HOLDPOINT_BATCH_MAX: wholeNumber(1, 5_000)
    .default(500)
    .describe('Maximum number of messages in one transaction')
    .meta(ADVANCED),
  HOLDPOINT_TEST_GATHER_MS: wholeNumber(1, 60_000)
    .optional()
    .describe(
      'Milliseconds that every transaction waits until it is full. With `HOLDPOINT_BATCH_MAX` it fixes the size of transactions',
    )
    .meta(FOR_TESTS),
  HOLDPOINT_TEST_CRASH_POINT: z
    .string()
    .regex(
      new RegExp(`^(${CRASH_POINTS.join('|')}):[1-9]\\d{0,8}(:freeze)?$`),
      'such as after_commit:3 or after_commit:3:freeze',
    )
    .optional()
    .describe(
      '`<point>:<n>` kills the process with SIGKILL at the n-th pass of a crash point; `<point>:<n>:freeze` suspends it there',
    )
    .meta(FOR_TESTS),
});
export type ServiceEnv = z.infer<typeof ServiceEnv>;

type BesideTrust = Pick<ServiceEnv, 'HOLDPOINT_TRUST_FILE'>;

/** A file of the credentials folder that lies beside the trust file, unless a setting names it. */
const besideTrust = (env: BesideTrust, path: string | undefined, name: string): string =>
  path ?? join(dirname(env.HOLDPOINT_TRUST_FILE), name);

/** The key of a service that has one of its own from the credentials folder. */
export const SealEnv = z.object({
  HOLDPOINT_SEAL_KEY_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File with the Ed25519 private key that seals the messages of the service, PKCS#8 PEM; read again when it changes. The first key signs. Default: `<service>.key.pem` beside the trust file',
    )
    .meta(ADVANCED),
});

/** The key file of a service. */
export const sealKeyFile = (service: string, env: BesideTrust & z.infer<typeof SealEnv>): string =>
  besideTrust(env, env.HOLDPOINT_SEAL_KEY_FILE, `${service}.key.pem`);

/** The secret by which executors enrol. */
export const JoinEnv = z.object({
  HOLDPOINT_JOIN_SECRET_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File with the secret by which new executors enrol at the approvals service. Default: `join.secret` beside the trust file',
    )
    .meta(ADVANCED),
});

export const joinSecretFile = (env: BesideTrust & z.infer<typeof JoinEnv>): string =>
  besideTrust(env, env.HOLDPOINT_JOIN_SECRET_FILE, 'join.secret');

/** Refuses former names of the settings of `schema`: a limit that is silently ignored would be a trap. */
const checkNames = (schema: z.ZodType, env: NodeJS.ProcessEnv): void => {
  const shape = schema instanceof z.ZodObject ? schema.shape : {};
  const problem = formerSettings(env, (name) => Object.hasOwn(shape, name));
  if (problem !== undefined) throw new ConfigError(problem);
};

/** Reads the environment whole. Throws `ConfigError` with one line that names every variable that is wrong. */
export const readEnv = <Schema extends z.ZodType>(
  schema: Schema,
  env: NodeJS.ProcessEnv,
): z.output<Schema> => {
  checkNames(schema, env);
  const { success, data, error } = schema.safeParse(env);
  if (success) return data;
  const problems = error.issues.map(({ code, path, message }) => {
    const name = path.join('.');
    const isMissing = code === 'invalid_type' && env[name] === undefined;
    return `${name}: ${isMissing ? 'is not set' : message}`;
  });
  throw new ConfigError(problems.join('; '));
};

/** The login of a bus user in a file that a variable names: an nkey seed or `.creds`. Throws `ConfigError`. */
export const readSeedFile = (variable: string, path: string): LoginText => {
  const read = (): Uint8Array => new TextEncoder().encode(readSecretFile(variable, path));
  try {
    natsLogin(read);
    return read;
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    throw new ConfigError(`${variable}: ${error.code}: ${error.message}`);
  }
};

/** The text of a file that a variable names, without the line end. Throws `ConfigError`. */
export const readSecretFile = (variable: string, path: string): string => {
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch (cause) {
    throw new ConfigError(`${variable}: the file cannot be read`, { cause });
  }
};

/** Where the database is, and the password of the role that the URL names. Throws `ConfigError`. */
export const databaseSettings = ({
  HOLDPOINT_DATABASE_URL: url,
  HOLDPOINT_DATABASE_PASSWORD_FILE: file,
}: Pick<ServiceEnv, 'HOLDPOINT_DATABASE_URL' | 'HOLDPOINT_DATABASE_PASSWORD_FILE'>) => ({
  url,
  password: file && readSecretFile('HOLDPOINT_DATABASE_PASSWORD_FILE', file),
});
