import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, isAbsolute, resolve } from 'node:path';
import { loginSecrets } from '@holdpoint/contracts/bus/nats-login';
import { DEFAULT_POOL, Pools } from '@holdpoint/contracts/bus/streams';
import {
  ADVANCED,
  ConfigError,
  JoinEnv,
  joinSecretFile,
  readEnv,
  readSecretFile,
  ServiceEnv,
  wholeNumber,
} from '@holdpoint/runtime/service/config';
import { z } from 'zod';
import type { BreakerRules } from './adapters/circuits/breaker.ts';
import type { Retention } from './adapters/journal/segments.ts';
import { commandEnv, type Environment } from './adapters/process/command-env.ts';
import type { CommandLimits } from './adapters/process/limits.ts';
import { type WorkConfig, workConfig, WorkEnv } from './adapters/process/work-settings.ts';
import { NotifyEnv, Origins } from '@holdpoint/runtime/service/origins';
import { isWithin } from './adapters/files/real-path.ts';
import { readSecretTable, type SecretTable } from './adapters/secrets/secret-table.ts';
import type { HttpTargets } from './capabilities/http/http-request.ts';
import { type EffectTiming, effectTiming } from './effect/timing.ts';

/** The executor's own variables are excluded: they lead to secrets. */
const isPassable = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !/^(HOLDPOINT_|GIT_)/.test(name);

const Names = z
  .string()
  .transform((text) => (text === '' ? [] : text.split(',').map((part) => part.trim())))
  .refine(
    (names) => names.every(isPassable),
    'names of variables with commas between them, none of which begins with HOLDPOINT_ or GIT_',
  )
  .default([]);

/** A command and its first arguments, as JSON: no shell parses it. */
const Argv = z
  .string()
  .transform((text, context): unknown => {
    if (text === '') return undefined;
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue('a JSON array of strings such as ["my-agent","--print"]');
      return z.NEVER;
    }
  })
  .pipe(
    z
      .array(z.string(), { error: 'a JSON array of strings such as ["my-agent","--print"]' })
      .min(1)
      .refine(([command]) => command !== '', 'the command comes first')
      .optional(),
  );

/** Commands mostly wait: for models, for the network, for disks. */
const COMMANDS_PER_CORE = 4;

/** Empty counts as not set, as in an env file. */
const Limit = (min: number, max: number) =>
  z.preprocess(
    (text) => (text === '' ? undefined : text),
    z.coerce.number().int().min(min).max(max).optional(),
  );

export const ExecutorEnv = ServiceEnv.extend({
  ...JoinEnv.shape,
  ...WorkEnv.shape,
  HOLDPOINT_WORKSPACE: z.string().min(1).describe('Folder that file effects are confined to'),
  HOLDPOINT_JOURNAL_DIR: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder of the journals, on a local disk that survives restarts and is not backed up; default: `<workspace>.journal`',
    ),
  HOLDPOINT_JOURNAL_DAYS: z.coerce
    .number()
    .min(1)
    .max(3_650)
    .default(7)
    .describe(
      'Days of history in the journal. Keep more than the age of the oldest backup that you would restore',
    )
    .meta(ADVANCED),
  HOLDPOINT_JOURNAL_MAX_MIB: wholeNumber(16, 1_048_576)
    .default(1_024)
    .describe('Maximum size of the journal, in MiB')
    .meta(ADVANCED),
  HOLDPOINT_EXECUTOR_POOLS: Pools.default([DEFAULT_POOL]).describe(
    'Pools whose orders this executor takes, comma-separated',
  ),
  HOLDPOINT_MAX_CONCURRENT_EFFECTS: wholeNumber(1, 10_000)
    .default(1_000)
    .describe('Maximum number of effects that run at the same time; further effects wait in the ledger')
    .meta(ADVANCED),
  HOLDPOINT_MAX_CONCURRENT_PROCESSES: wholeNumber(1, 10_000)
    .optional()
    .describe(
      'Maximum number of steps that run processes (agents, scripts) at the same time, counted apart from other effects; default: four per core',
    ),
  HOLDPOINT_MAX_CONCURRENT_PER_TARGET: wholeNumber(1, 10_000)
    .default(64)
    .describe('Maximum number of effects that use the same external target at the same time')
    .meta(ADVANCED),
  HOLDPOINT_CIRCUIT_MIN_REQUESTS: wholeNumber(1, 10_000)
    .default(10)
    .describe(
      'Minimum number of requests in the window before the circuit of a target can open; it opens when more than half of them failed',
    )
    .meta(ADVANCED),
  HOLDPOINT_CIRCUIT_WINDOW_MS: wholeNumber(1_000, 3_600_000)
    .default(30_000)
    .describe('Length of the window in which requests of a circuit are counted, in milliseconds')
    .meta(ADVANCED),
  HOLDPOINT_CIRCUIT_PROBE_AFTER_MS: wholeNumber(100, 3_600_000)
    .default(30_000)
    .describe(
      'Milliseconds until one trial order may use a failing target while the recovery service is unreachable',
    )
    .meta(ADVANCED),
  HOLDPOINT_REPOSITORIES: z
    .string()
    .default('')
    .describe(
      'Folders with git repositories that tasks may use: absolute paths, separated as in `PATH`. Unset: none',
    ),
  HOLDPOINT_AGENT: Argv.optional().describe(
    'Default agent command of nodes, as a JSON array: `["my-agent","--print"]`',
  ),
  HOLDPOINT_PROCESS_ENV: Names.describe(
    'Names of variables that processes receive besides `PATH`, `HOME`, `LANG` and similar ones, comma-separated',
  ),
  HOLDPOINT_CAPABILITIES: z
    .string()
    .default('')
    .describe(
      'Modules with [your own capabilities](../capabilities.md#capabilities-of-your-own): absolute paths, separated as in `PATH`, outside the workspace. Their code runs with the rights of the executor',
    ),
  HOLDPOINT_STATE_DIR: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder that records running processes and buffered logs, on a local disk; default: `<workspace>.state`',
    ),
  HOLDPOINT_SECRETS_FILE: z
    .string()
    .optional()
    .describe(
      'File that declares which [secrets](../operations.md#secrets-of-effects) effects may use. Unset: no secrets',
    ),
  HOLDPOINT_PROCESS_MEMORY_MIB: Limit(64, 16_777_216)
    .describe('Maximum private memory of each process, in MiB; default: half of the memory of this machine')
    .meta(ADVANCED),
  HOLDPOINT_PROCESS_MAX_PROCESSES: Limit(8, 1_000_000)
    .describe(
      'Maximum number of processes and threads of a command. Without a user namespace the limit counts all processes of the user that runs commands, and does not apply to root',
    )
    .meta(ADVANCED),
  HOLDPOINT_PROCESS_FILE_MIB: Limit(1, 16_777_216)
    .describe('Maximum size of a file that a process writes, in MiB')
    .meta(ADVANCED),
  HOLDPOINT_PROCESS_CPU_SECONDS: Limit(1, 31_536_000)
    .describe('Maximum processor time of each process, in seconds')
    .meta(ADVANCED),
  HOLDPOINT_LOG_MAX_MIB: wholeNumber(1, 1_024)
    .default(64)
    .describe('Maximum output that is stored of one start, in MiB; longer output is cut at its end')
    .meta(ADVANCED),
  HOLDPOINT_SPOOL_MAX_MIB: wholeNumber(16, 1_048_576)
    .default(1_024)
    .describe(
      'Maximum size of logs and outputs that wait in the state folder for the bus, in MiB; further ones are dropped',
    )
    .meta(ADVANCED),
  HOLDPOINT_HTTP_TARGETS: Origins.describe(
    'Exact origins that `cap.http.request` may call, comma-separated: `https://api.example:8443`',
  ),
  HOLDPOINT_HTTP_KEYED_TARGETS: Origins.describe(
    'Exact origins that `cap.http.keyed_request` may call. They must remember an `Idempotency-Key` for more than an hour',
  ),
  HOLDPOINT_HTTP_IDEMPOTENT_TARGETS: Origins.describe(
    'Exact origins that `cap.http.idempotent_request` may call. Their PUT and DELETE must be idempotent',
  ),
  HOLDPOINT_HTTP_PUBLIC: z
    .enum(['on', 'off'], { error: 'on or off' })
    .default('off')
    .describe('`on`: `cap.http.request` may also call every public host by https on port 443'),
  ...NotifyEnv.shape,
});

/** For tests only, and so not among the documented settings. All executors of one ledger need the same value. */
const TestEnv = z.object({ HOLDPOINT_TEST_LEASE_MS: wholeNumber(100, 60_000).optional() });

export type ExecutorConfig = {
  readonly env: z.infer<typeof ServiceEnv>;
  readonly workspace: string;
  readonly journal: { readonly folder: string } & Retention;
  readonly pools: readonly string[];
  readonly timing: EffectTiming;
  readonly effectsMax: number;
  readonly commandsMax: number;
  /** Orders at one outside target. */
  readonly targetMax: number;
  readonly circuits: BreakerRules;
  /** Absolute paths of existing folders. */
  readonly repositories: readonly string[];
  readonly agent: readonly string[] | undefined;
  /** The environment of commands. */
  readonly commandEnv: Environment;
  readonly state: string;
  /** Modules with custom capabilities: absolute paths of files. */
  readonly capabilities: readonly string[];
  /** Limits of logs and outputs that wait for their upload. */
  readonly spool: { readonly logMaxBytes: number; readonly maxBytes: number };
  /** Files that hold secrets of the executor, or lead to some. */
  readonly secretFiles: readonly string[];
  /** The executor's own secrets, which no output may show. */
  readonly secrets: readonly string[];
  /** The secrets that effects may use. */
  readonly secretTable: SecretTable;
  readonly work: WorkConfig;
  readonly commandLimits: CommandLimits;
  readonly http: HttpTargets;
  readonly notifyTargets: ReadonlySet<string>;
};

const DAY_MS = 86_400_000;
const MIB = 1_048_576;

/** An effect with write access to the journal could hide its starts. */
const journalFolder = (workspace: string, journal = `${resolve(workspace)}.journal`): string => {
  const folder = resolve(journal);
  if (isWithin(resolve(workspace), folder))
    throw new ConfigError('HOLDPOINT_JOURNAL_DIR: inside the workspace, where effects write');
  return folder;
};

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const foldersOf = (text: string): readonly string[] => {
  const folders = text.split(delimiter).filter((folder) => folder !== '');
  // Names the position only: a misplaced value may be a secret.
  for (const [at, folder] of folders.entries()) {
    const wrong = !isAbsolute(folder) ? 'not an absolute path' : !isFolder(folder) ? 'no folder' : undefined;
    if (wrong !== undefined)
      throw new ConfigError(
        `HOLDPOINT_REPOSITORIES: path ${String(at + 1)} of ${String(folders.length)} is ${wrong}`,
      );
  }
  return folders.map((folder) => resolve(folder));
};

const MODULE = /\.(?:ts|mts|mjs|js)$/;

const isFile = (path: string): boolean => {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

const problemOfModule = (path: string, workspace: string): string | undefined => {
  if (!isAbsolute(path)) return 'is not an absolute path';
  if (!MODULE.test(path)) return 'is no module: expected .ts, .mts, .mjs or .js';
  if (!isFile(path)) return 'is no file that can be read';
  return isWithin(resolve(workspace), resolve(path))
    ? 'is inside the workspace, where effects write'
    : undefined;
};

const modulesOf = (text: string, workspace: string): readonly string[] => {
  const paths = text.split(delimiter).filter((path) => path !== '');
  for (const [at, path] of paths.entries()) {
    const wrong = problemOfModule(path, workspace);
    if (wrong !== undefined)
      throw new ConfigError(
        `HOLDPOINT_CAPABILITIES: path ${String(at + 1)} of ${String(paths.length)} ${wrong}`,
      );
  }
  return [...new Set(paths.map((path) => resolve(path)))];
};

/** A writer of this folder could have any process of the executor's user killed. */
const stateFolder = (workspace: string, state = `${resolve(workspace)}.state`): string => {
  const folder = resolve(state);
  if (isWithin(resolve(workspace), folder))
    throw new ConfigError('HOLDPOINT_STATE_DIR: inside the workspace, where effects write');
  return folder;
};

const secretsOf = (env: z.infer<typeof ServiceEnv>): readonly string[] =>
  (['HOLDPOINT_NATS_SEED_FILE', 'HOLDPOINT_DATABASE_PASSWORD_FILE'] as const).flatMap((variable) => {
    const path = env[variable];
    if (path === undefined) return [];
    const text = readSecretFile(variable, path);
    return variable === 'HOLDPOINT_NATS_SEED_FILE' ? loginSecrets(text) : [text];
  });

const secretFilesOf = (env: z.infer<typeof ExecutorEnv>): readonly string[] =>
  [
    env.HOLDPOINT_NATS_SEED_FILE,
    env.HOLDPOINT_DATABASE_PASSWORD_FILE,
    env.HOLDPOINT_TRUST_FILE,
    joinSecretFile(env),
    env.HOLDPOINT_SECRETS_FILE,
  ].flatMap((path) => (path === undefined || path === '' ? [] : [resolve(path)]));

const bytesOf = (mib: number | undefined): number | undefined => (mib === undefined ? undefined : mib * MIB);

const limitsOf = (env: z.infer<typeof ExecutorEnv>): CommandLimits => ({
  memoryBytes: bytesOf(env.HOLDPOINT_PROCESS_MEMORY_MIB),
  processes: env.HOLDPOINT_PROCESS_MAX_PROCESSES,
  fileBytes: bytesOf(env.HOLDPOINT_PROCESS_FILE_MIB),
  cpuSeconds: env.HOLDPOINT_PROCESS_CPU_SECONDS,
});

export const readConfig = (environment: NodeJS.ProcessEnv): ExecutorConfig => {
  const env = readEnv(ExecutorEnv, environment);
  return {
    env,
    workspace: env.HOLDPOINT_WORKSPACE,
    journal: {
      folder: journalFolder(env.HOLDPOINT_WORKSPACE, env.HOLDPOINT_JOURNAL_DIR),
      keepMs: env.HOLDPOINT_JOURNAL_DAYS * DAY_MS,
      maxBytes: env.HOLDPOINT_JOURNAL_MAX_MIB * MIB,
    },
    timing: effectTiming(readEnv(TestEnv, environment).HOLDPOINT_TEST_LEASE_MS),
    pools: env.HOLDPOINT_EXECUTOR_POOLS,
    effectsMax: env.HOLDPOINT_MAX_CONCURRENT_EFFECTS,
    commandsMax: env.HOLDPOINT_MAX_CONCURRENT_PROCESSES ?? COMMANDS_PER_CORE * availableParallelism(),
    targetMax: env.HOLDPOINT_MAX_CONCURRENT_PER_TARGET,
    circuits: {
      triesMin: env.HOLDPOINT_CIRCUIT_MIN_REQUESTS,
      windowMs: env.HOLDPOINT_CIRCUIT_WINDOW_MS,
      openMs: env.HOLDPOINT_CIRCUIT_PROBE_AFTER_MS,
    },
    repositories: foldersOf(env.HOLDPOINT_REPOSITORIES),
    agent: env.HOLDPOINT_AGENT,
    commandEnv: commandEnv(environment, env.HOLDPOINT_PROCESS_ENV),
    state: stateFolder(env.HOLDPOINT_WORKSPACE, env.HOLDPOINT_STATE_DIR),
    capabilities: modulesOf(env.HOLDPOINT_CAPABILITIES, env.HOLDPOINT_WORKSPACE),
    spool: { logMaxBytes: env.HOLDPOINT_LOG_MAX_MIB * MIB, maxBytes: env.HOLDPOINT_SPOOL_MAX_MIB * MIB },
    secrets: secretsOf(env),
    secretFiles: secretFilesOf(env),
    secretTable: readSecretTable(env.HOLDPOINT_SECRETS_FILE, environment),
    work: workConfig(env),
    commandLimits: limitsOf(env),
    http: {
      targets: env.HOLDPOINT_HTTP_TARGETS,
      keyedTargets: env.HOLDPOINT_HTTP_KEYED_TARGETS,
      idempotentTargets: env.HOLDPOINT_HTTP_IDEMPOTENT_TARGETS,
      anyPublic: env.HOLDPOINT_HTTP_PUBLIC === 'on',
    },
    notifyTargets: env.HOLDPOINT_NOTIFY_TARGETS,
  };
};
