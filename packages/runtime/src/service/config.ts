import { readFileSync } from 'node:fs';
import { fromSeed } from '@nats-io/nkeys';
import { z } from 'zod';
import { CRASH_POINTS } from '../engine/ports.ts';

/** A wrong setting. The message names each variable and what it should be, and never shows a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** sysexits.h: the configuration is wrong, so that starting again will not help. */
export const EXIT_CONFIG = 78;

/** A setting that is a whole number from one to another. */
export const wholeNumber = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

/** What every service reads from the environment. */
export const ServiceEnv = z.object({
  HOLDPOINT_NATS_URL: z
    .string()
    .regex(/^(nats|tls):\/\//, 'a URL such as nats://127.0.0.1:4222')
    .describe('Where NATS is: `nats://host:port` or `tls://host:port`, several with commas'),
  HOLDPOINT_NATS_SEED_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('File with the nkey seed of the bus user of the service'),
  HOLDPOINT_DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'a URL such as postgres://hp_orchestrator@127.0.0.1:5432/holdpoint')
    .describe('Where PostgreSQL is, and as which role: `postgres://hp_<service>@host:port/holdpoint`'),
  HOLDPOINT_DATABASE_PASSWORD_FILE: z.string().min(1).optional().describe("File with the role's password"),
  HOLDPOINT_HTTP_HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe(
      'Address of the HTTP port: health and metrics; of approvals, its API, WebSocket and console as well',
    ),
  HOLDPOINT_HTTP_PORT: wholeNumber(0, 65_535).default(0).describe('The HTTP port; 0 is any that is free'),
  HOLDPOINT_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('`debug`, `info`, `warn`, `error` or `silent`'),
  HOLDPOINT_BATCH_MAX: wholeNumber(1, 5_000).default(500).describe('Messages in one transaction at the most'),
  HOLDPOINT_CRASH: z
    .string()
    .regex(
      new RegExp(`^(${CRASH_POINTS.join('|')}):[1-9]\\d{0,8}(:freeze)?$`),
      'such as after_commit:3 or after_commit:3:freeze',
    )
    .optional()
    .describe(
      'For tests of recovery: `<point>:<n>` ends the process with SIGKILL at the n-th pass of that point, `<point>:<n>:freeze` stops it there',
    ),
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
