import type { KeyObject } from 'node:crypto';
import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, isAbsolute, resolve } from 'node:path';
import { DEFAULT_POOL, Pools } from '@holdpoint/contracts/bus/streams';
import {
  ConfigError,
  readEnv,
  readSecretFile,
  ServiceEnv,
  wholeNumber,
} from '@holdpoint/runtime/service/config';
import { z } from 'zod';
import type { BreakerRules } from './adapters/circuits/breaker.ts';
import { parseGrantKeys } from './adapters/grants/grant-keys.ts';
import type { Retention } from './adapters/journal/segments.ts';
import { commandEnv, type Environment } from './adapters/process/command-env.ts';
import type { NamespaceWanted } from './adapters/process/create-confinement.ts';
import type { CommandLimits } from './adapters/process/limits.ts';
import { isWithin } from './adapters/files/real-path.ts';
import { readSecretTable, type SecretTable } from './adapters/secrets/secret-table.ts';
import type { HttpTargets } from './capabilities/http/http-request.ts';
import { type EffectTiming, effectTiming } from './effect/timing.ts';

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

/** Variables of its own are not among them: they lead to secrets. */
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

/** A program and its first arguments, as JSON: nothing that a shell would take apart. */
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
      .refine(([program]) => program !== '', 'the program is named first')
      .optional(),
  );

/** Programs mostly wait: for models, for the network, for disks. */
const COMMANDS_PER_CORE = 4;

/** Empty counts as left out, because that is how a file of settings hands on what nobody has said. */
const Limit = (min: number, max: number) =>
  z.preprocess(
    (text) => (text === '' ? undefined : text),
    z.coerce.number().int().min(min).max(max).optional(),
  );

export const ExecutorEnv = ServiceEnv.extend({
  HOLDPOINT_GRANT_PUBLIC_KEYS_FILE: z
    .string()
    .min(1)
    .describe("File with the approvals service's public keys, SPKI PEM; several while one replaces another"),
  HOLDPOINT_WORKSPACE: z.string().min(1).describe('The folder that file effects are confined to'),
  HOLDPOINT_JOURNAL: z
    .string()
    .min(1)
    .optional()
    .describe(
      "The folder of the journals: on this machine's own disk, kept over restarts, in no backup; `<workspace>.journal` when left out",
    ),
  HOLDPOINT_JOURNAL_DAYS: z.coerce
    .number()
    .min(1)
    .max(3_650)
    .default(7)
    .describe('How many days back the journal reaches: longer than the oldest backup that you would restore'),
  HOLDPOINT_JOURNAL_MAX_MIB: wholeNumber(16, 1_048_576)
    .default(1_024)
    .describe('How large the journal may grow, in MiB'),
  HOLDPOINT_POOL: Pools.default([DEFAULT_POOL]).describe(
    'The pools whose orders it takes, with commas between them',
  ),
  HOLDPOINT_EFFECTS_MAX: wholeNumber(1, 10_000)
    .default(1_000)
    .describe('Effects carried out at the same time; others wait in the ledger'),
  HOLDPOINT_COMMANDS_MAX: wholeNumber(1, 10_000)
    .optional()
    .describe(
      'Steps that start programs (agents, scripts), at the same time and beside other effects; others wait in the ledger. Four for each core, when left out',
    ),
  HOLDPOINT_TARGET_MAX: wholeNumber(1, 10_000)
    .default(64)
    .describe('Effects that may talk to the same outside target at the same time'),
  HOLDPOINT_CIRCUIT_TRIES_MIN: wholeNumber(1, 10_000)
    .default(10)
    .describe(
      'The circuit of a target opens when more than half of what was tried in the window has failed, and it was at least so much',
    ),
  HOLDPOINT_CIRCUIT_WINDOW_MS: wholeNumber(1_000, 3_600_000)
    .default(30_000)
    .describe('That window, in milliseconds'),
  HOLDPOINT_CIRCUIT_OPEN_MS: wholeNumber(100, 3_600_000)
    .default(30_000)
    .describe(
      'Milliseconds after which one order may try a target that fails, while recovery is away; else recovery says so',
    ),
  HOLDPOINT_REPOSITORIES: z
    .string()
    .default('')
    .describe(
      'Folders whose git repositories tasks may work in: absolute, separated as in `PATH`, each of them there; without any, none',
    ),
  HOLDPOINT_AGENT: Argv.optional().describe(
    'The agent of nodes that name none, as a JSON array: `["my-agent","--print"]`',
  ),
  HOLDPOINT_COMMAND_ENV: Names.describe(
    'Names of variables, with commas between them, that programs see beside `PATH`, `HOME`, `LANG` and the like',
  ),
  HOLDPOINT_CAPABILITIES: z
    .string()
    .default('')
    .describe(
      'Modules with [capabilities of your own](../capabilities.md#capabilities-of-your-own): absolute paths of files, separated as in `PATH`; not in the workspace. Their code runs as the executor does',
    ),
  HOLDPOINT_STATE: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Where it is kept which programs run, on this machine's own disk; `<workspace>.state` when left out",
    ),
  HOLDPOINT_SECRETS_FILE: z
    .string()
    .optional()
    .describe(
      'File that says which [secrets](../operations.md#secrets-of-effects) effects may be given, and what for; without it there are none',
    ),
  HOLDPOINT_COMMAND_NAMESPACE: z
    .enum(['auto', 'off', 'required'])
    .default('auto')
    .describe(
      'Whether programs have a [namespace of processes](../operations.md#what-programs-may-do), with which everything of them ends: `auto` where it is possible, `off`, or `required`, which ends the start where it is not',
    ),
  HOLDPOINT_COMMAND_MEMORY_MIB: Limit(64, 16_777_216).describe(
    'Address space of each process of a program, in MiB',
  ),
  HOLDPOINT_COMMAND_PROCESSES: Limit(8, 1_000_000).describe(
    "Processes and threads of a program; without a user namespace, of the executor's user altogether, and for root not at all",
  ),
  HOLDPOINT_COMMAND_FILE_MIB: Limit(1, 16_777_216).describe('Size of any file that a program writes, in MiB'),
  HOLDPOINT_COMMAND_CPU_SECONDS: Limit(1, 31_536_000).describe(
    'Seconds of processor time of each process of a program',
  ),
  HOLDPOINT_LOG_MAX_MIB: wholeNumber(1, 1_024)
    .default(64)
    .describe('MiB of what one start prints that are kept whole; of what is longer, its beginning'),
  HOLDPOINT_SPOOL_MAX_MIB: wholeNumber(16, 1_048_576)
    .default(1_024)
    .describe(
      'MiB of logs and outputs that may wait in the folder of the state until the bus has them; beyond it no more are kept until some are',
    ),
  HOLDPOINT_HTTP_TARGETS: Origins.describe(
    'Origins that `cap.http.request` may reach: `https://api.example:8443`, several with commas, each exactly',
  ),
  HOLDPOINT_HTTP_KEYED_TARGETS: Origins.describe(
    'The same for `cap.http.keyed_request`: origins that remember an `Idempotency-Key` for longer than an hour',
  ),
  HOLDPOINT_HTTP_IDEMPOTENT_TARGETS: Origins.describe(
    'The same for `cap.http.idempotent_request`: origins where PUT and DELETE mean the same however often they are sent',
  ),
  HOLDPOINT_HTTP_PUBLIC: z
    .enum(['on', 'off'], { error: 'on or off' })
    .default('off')
    .describe('`on`: `cap.http.request` may reach every public host by https on port 443, too'),
  HOLDPOINT_NOTIFY_TARGETS: Origins.describe(
    'Origins that `cap.notify.*` may reach: `https://discord.com`, `https://hooks.slack.com`, receivers of webhooks',
  ),
});

/** For tests only, and so not among the documented settings. All executors of one ledger need the same value. */
const TestEnv = z.object({ HOLDPOINT_TEST_LEASE_MS: wholeNumber(100, 60_000).optional() });

export type ExecutorConfig = {
  readonly env: z.infer<typeof ServiceEnv>;
  /** Public keys, and the file that they are from. */
  readonly grantKeys: { readonly first: readonly KeyObject[]; readonly path: string };
  readonly workspace: string;
  readonly journal: { readonly folder: string } & Retention;
  readonly pools: readonly string[];
  readonly timing: EffectTiming;
  readonly effectsMax: number;
  readonly commandsMax: number;
  /** At one outside target. */
  readonly targetMax: number;
  readonly circuits: BreakerRules;
  /** Absolute, and there. */
  readonly repositories: readonly string[];
  readonly agent: readonly string[] | undefined;
  /** All that programs see of the environment. */
  readonly commandEnv: Environment;
  readonly state: string;
  /** Modules with capabilities of the operator's own: absolute paths of files. */
  readonly capabilities: readonly string[];
  /** Of logs and outputs, until they are stored. */
  readonly spool: { readonly logMaxBytes: number; readonly maxBytes: number };
  /** What the executor itself was handed, and no output may show. */
  readonly secrets: readonly string[];
  /** Those that effects may be carried out with. */
  readonly secretTable: SecretTable;
  readonly commandNamespace: NamespaceWanted;
  readonly commandLimits: CommandLimits;
  readonly http: HttpTargets;
  /** Exact origins. */
  readonly notifyTargets: ReadonlySet<string>;
};

const readGrantKeys = (path: string): ExecutorConfig['grantKeys'] => ({
  first: parseGrantKeys(readSecretFile('HOLDPOINT_GRANT_PUBLIC_KEYS_FILE', path)),
  path,
});

const DAY_MS = 86_400_000;
const MIB = 1_048_576;

/** An effect that could write the journal could make itself unheard of. */
const journalFolder = (workspace: string, journal = `${resolve(workspace)}.journal`): string => {
  const folder = resolve(journal);
  if (isWithin(resolve(workspace), folder))
    throw new ConfigError('HOLDPOINT_JOURNAL: inside the workspace, where effects write');
  return folder;
};

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const foldersOf = (text: string): readonly string[] => {
  const folders = text.split(delimiter).filter((folder) => folder !== '');
  // By its place: what was put there by mistake may be a secret.
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

/** Whoever could write it could have any process of the executor's user killed. */
const stateFolder = (workspace: string, state = `${resolve(workspace)}.state`): string => {
  const folder = resolve(state);
  if (isWithin(resolve(workspace), folder))
    throw new ConfigError('HOLDPOINT_STATE: inside the workspace, where effects write');
  return folder;
};

const secretsOf = (env: z.infer<typeof ServiceEnv>): readonly string[] =>
  (['HOLDPOINT_NATS_SEED_FILE', 'HOLDPOINT_DATABASE_PASSWORD_FILE'] as const).flatMap((variable) => {
    const path = env[variable];
    return path === undefined ? [] : [readSecretFile(variable, path)];
  });

const bytesOf = (mib: number | undefined): number | undefined => (mib === undefined ? undefined : mib * MIB);

const limitsOf = (env: z.infer<typeof ExecutorEnv>): CommandLimits => ({
  memoryBytes: bytesOf(env.HOLDPOINT_COMMAND_MEMORY_MIB),
  processes: env.HOLDPOINT_COMMAND_PROCESSES,
  fileBytes: bytesOf(env.HOLDPOINT_COMMAND_FILE_MIB),
  cpuSeconds: env.HOLDPOINT_COMMAND_CPU_SECONDS,
});

export const readConfig = (environment: NodeJS.ProcessEnv): ExecutorConfig => {
  const env = readEnv(ExecutorEnv, environment);
  return {
    env,
    grantKeys: readGrantKeys(env.HOLDPOINT_GRANT_PUBLIC_KEYS_FILE),
    workspace: env.HOLDPOINT_WORKSPACE,
    journal: {
      folder: journalFolder(env.HOLDPOINT_WORKSPACE, env.HOLDPOINT_JOURNAL),
      keepMs: env.HOLDPOINT_JOURNAL_DAYS * DAY_MS,
      maxBytes: env.HOLDPOINT_JOURNAL_MAX_MIB * MIB,
    },
    timing: effectTiming(readEnv(TestEnv, environment).HOLDPOINT_TEST_LEASE_MS),
    pools: env.HOLDPOINT_POOL,
    effectsMax: env.HOLDPOINT_EFFECTS_MAX,
    commandsMax: env.HOLDPOINT_COMMANDS_MAX ?? COMMANDS_PER_CORE * availableParallelism(),
    targetMax: env.HOLDPOINT_TARGET_MAX,
    circuits: {
      triesMin: env.HOLDPOINT_CIRCUIT_TRIES_MIN,
      windowMs: env.HOLDPOINT_CIRCUIT_WINDOW_MS,
      openMs: env.HOLDPOINT_CIRCUIT_OPEN_MS,
    },
    repositories: foldersOf(env.HOLDPOINT_REPOSITORIES),
    agent: env.HOLDPOINT_AGENT,
    commandEnv: commandEnv(environment, env.HOLDPOINT_COMMAND_ENV),
    state: stateFolder(env.HOLDPOINT_WORKSPACE, env.HOLDPOINT_STATE),
    capabilities: modulesOf(env.HOLDPOINT_CAPABILITIES, env.HOLDPOINT_WORKSPACE),
    spool: { logMaxBytes: env.HOLDPOINT_LOG_MAX_MIB * MIB, maxBytes: env.HOLDPOINT_SPOOL_MAX_MIB * MIB },
    secrets: secretsOf(env),
    secretTable: readSecretTable(env.HOLDPOINT_SECRETS_FILE, environment),
    commandNamespace: env.HOLDPOINT_COMMAND_NAMESPACE,
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
