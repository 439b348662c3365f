import { readFileSync } from 'node:fs';
import { fromSeed } from '@nats-io/nkeys';
import { z } from 'zod';
import { CRASH_POINTS } from '../engine/ports.ts';

/** A wrong setting. The message names each variable and the expected value, and never shows a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** sysexits.h: the configuration is wrong, so that starting again will not help. */
export const EXIT_CONFIG = 78;

/** A setting that is a whole number in a range. */
export const wholeNumber = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

/** Marks a setting whose default fits almost every deployment. The reference lists it apart. */
export const ADVANCED = { use: 'advanced' } as const;

/** Marks a setting that only tests use. */
export const FOR_TESTS = { use: 'tests' } as const;

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
    .describe("File with the nkey seed of the service's bus user"),
  HOLDPOINT_DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'a URL such as postgres://hp_orchestrator@127.0.0.1:5432/holdpoint')
    .describe('PostgreSQL database and role: `postgres://hp_<service>@host:port/holdpoint`'),
  HOLDPOINT_DATABASE_PASSWORD_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('File with the password of the database role'),
  HOLDPOINT_HTTP_HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe(
      'Listen address of the HTTP port: health and metrics, and for approvals also API, WebSocket and console',
    ),
  HOLDPOINT_HTTP_PORT: wholeNumber(0, 65_535).default(0).describe('HTTP port; 0 selects a free port'),
  HOLDPOINT_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Lowest level that is logged: `debug`, `info`, `warn`, `error` or `silent`'),
  HOLDPOINT_BATCH_MAX: wholeNumber(1, 5_000)
    .default(500)
    .describe('Maximum number of messages in one transaction')
    .meta(ADVANCED),
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

/** Former names of settings, with the names that replace them. */
export const RENAMED_SETTINGS: Readonly<Record<string, string>> = {
  HOLDPOINT_POOL: 'HOLDPOINT_EXECUTOR_POOLS',
  HOLDPOINT_POOLS: 'HOLDPOINT_DEPLOYMENT_POOLS',
  HOLDPOINT_TARGET_MAX: 'HOLDPOINT_MAX_CONCURRENT_PER_TARGET',
  HOLDPOINT_EFFECTS_MAX: 'HOLDPOINT_MAX_CONCURRENT_EFFECTS',
  HOLDPOINT_COMMANDS_MAX: 'HOLDPOINT_MAX_CONCURRENT_PROCESSES',
  HOLDPOINT_STATE: 'HOLDPOINT_STATE_DIR',
  HOLDPOINT_JOURNAL: 'HOLDPOINT_JOURNAL_DIR',
  HOLDPOINT_CIRCUIT_TRIES_MIN: 'HOLDPOINT_CIRCUIT_MIN_REQUESTS',
  HOLDPOINT_COMMAND_NAMESPACE: 'HOLDPOINT_PROCESS_SANDBOX',
  HOLDPOINT_COMMAND_ENV: 'HOLDPOINT_PROCESS_ENV',
  HOLDPOINT_COMMAND_MEMORY_MIB: 'HOLDPOINT_PROCESS_MEMORY_MIB',
  HOLDPOINT_COMMAND_PROCESSES: 'HOLDPOINT_PROCESS_MAX_PROCESSES',
  HOLDPOINT_COMMAND_FILE_MIB: 'HOLDPOINT_PROCESS_FILE_MIB',
  HOLDPOINT_COMMAND_CPU_SECONDS: 'HOLDPOINT_PROCESS_CPU_SECONDS',
  HOLDPOINT_CRASH: 'HOLDPOINT_TEST_CRASH_POINT',
  HOLDPOINT_DISCORD_API: 'HOLDPOINT_TEST_DISCORD_API',
  HOLDPOINT_CONSOLE_FOLDER: 'HOLDPOINT_CONSOLE_DIR',
};

/** Refuses former names of the settings of `schema`: a limit that is silently ignored would be a trap. */
const checkNames = (schema: z.ZodType, env: NodeJS.ProcessEnv): void => {
  const shape = schema instanceof z.ZodObject ? schema.shape : {};
  const found = Object.entries(RENAMED_SETTINGS).filter(
    ([old, name]) => env[old] && Object.hasOwn(shape, name),
  );
  if (found.length > 0)
    throw new ConfigError(found.map(([old, name]) => `${old}: renamed to ${name}`).join('; '));
};

/** Reads the environment whole. Throws `ConfigError` with one line that names every variable that is wrong. */
export const readEnv = <Schema extends z.ZodType>(
  schema: Schema,
  env: NodeJS.ProcessEnv,
): z.output<Schema> => {
  checkNames(schema, env);
  const { success, data, error } = schema.safeParse(env);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new ConfigError(problems.join('; '));
};

/** The nkey seed in a file that a variable names. Throws `ConfigError`. */
export const readSeedFile = (variable: string, path: string): Uint8Array => {
  const seed = new TextEncoder().encode(readSecretFile(variable, path));
  try {
    fromSeed(seed);
    return seed;
  } catch (cause) {
    throw new ConfigError(`${variable}: the file holds no nkey seed`, { cause });
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
