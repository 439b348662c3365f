import { readFileSync } from 'node:fs';
import { fromSeed } from '@nats-io/nkeys';
import { z } from 'zod';
import { CRASH_POINTS } from './ports.ts';

/** A wrong setting. The message names each variable and what it should be, and never shows a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** sysexits.h: the configuration is wrong, so that starting again will not help. */
export const EXIT_CONFIG = 78;

const port = z.coerce.number().int().min(0).max(65_535);

/** What every service reads from the environment. */
export const ServiceEnv = z.object({
  HOLDPOINT_NATS_URL: z.string().regex(/^(nats|tls):\/\//, 'a URL such as nats://127.0.0.1:4222'),
  HOLDPOINT_NATS_SEED_FILE: z.string().min(1).optional(),
  HOLDPOINT_DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'a URL such as postgres://hp_orchestrator@127.0.0.1:5432/holdpoint'),
  HOLDPOINT_DATABASE_PASSWORD_FILE: z.string().min(1).optional(),
  HOLDPOINT_HTTP_HOST: z.string().min(1).default('127.0.0.1'),
  HOLDPOINT_HTTP_PORT: port.default(0),
  HOLDPOINT_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** Messages in one transaction at the most. */
  HOLDPOINT_BATCH_MAX: z.coerce.number().int().min(1).max(5_000).default(500),
  /**
   * For tests of recovery: `<point>:<n>` ends the process with SIGKILL at the n-th pass of that point, `<point>:<n>:freeze`
   * stops it there.
   */
  HOLDPOINT_CRASH: z
    .string()
    .regex(
      new RegExp(`^(${CRASH_POINTS.join('|')}):[1-9]\\d{0,8}(:freeze)?$`),
      'such as after_commit:3 or after_commit:3:freeze',
    )
    .optional(),
});
export type ServiceEnv = z.infer<typeof ServiceEnv>;

/** Reads the environment whole. Throws `ConfigError` with one line that names every variable that is wrong. */
export const readEnv = <Schema extends z.ZodType>(
  schema: Schema,
  env: NodeJS.ProcessEnv,
): z.output<Schema> => {
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
