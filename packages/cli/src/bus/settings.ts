import { readFileSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, sep } from 'node:path';
import type { LoginText } from '@holdpoint/contracts/bus/nats-login';
import { z } from 'zod';
import { readOwnFile } from './own-file.ts';
import { pointerFile } from './running-pointer.ts';
import { UsageError } from '../kit/usage-error.ts';

/** Address and credentials. */
export type Settings = {
  readonly natsUrl: string;
  /** The nkey seed or the `.creds` of the bus user; undefined if the server needs none. */
  readonly seed?: LoginText | undefined;
  /** Bearer token of the user; public endpoints need none. */
  readonly token?: string | undefined;
  /** The bus user of the seed (default: `operator`). */
  readonly user?: string | undefined;
  /** Address of the console, if a local start is running. */
  readonly consoleUrl?: string | undefined;
};

/** The part of `running.json` that the CLI reads. */
const Running = z.object({
  natsUrl: z.string().optional(),
  natsSeedFile: z.string().optional(),
  tokenFile: z.string().optional(),
  services: z.object({ approvals: z.string().optional() }).optional(),
});

const RUNNING_FILE = join('.holdpoint', 'data', 'running.json');
/** Longest accepted token. */
const SECRET_MAX_BYTES = 8_192;

const readSecret = (path: string, name: string): string => {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new UsageError(`${name}: ${path} cannot be read`, { cause });
  }
  if (text === '' || text.length > SECRET_MAX_BYTES || /\s/.test(text))
    throw new UsageError(`${name}: ${path} holds no secret`);
  return text;
};

/** Reads the file now, and again at each connection. */
const readLogin = (path: string, name: string): LoginText => {
  const read = (): Uint8Array => {
    try {
      return readFileSync(path);
    } catch (cause) {
      throw new UsageError(`${name}: ${path} cannot be read`, { cause });
    }
  };
  if (read().byteLength === 0) throw new UsageError(`${name}: ${path} holds no secret`);
  return read;
};

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

type RunningText = { readonly file: string; readonly text: string };

/** The nearest `running.json`, in this directory or above. */
const findRunning = (directory: string): RunningText | undefined => {
  const file = join(directory, RUNNING_FILE);
  try {
    return { file, text: readFileSync(file, 'utf8') };
  } catch (error) {
    if (!isMissing(error)) throw new UsageError(`${file} cannot be read`, { cause: error });
  }
  const above = dirname(directory);
  return above === directory ? undefined : findRunning(above);
};

const parseRunning = (file: string, text: string): z.infer<typeof Running> => {
  try {
    return Running.parse(JSON.parse(text));
  } catch (cause) {
    throw new UsageError(`${file}: invalid format`, { cause });
  }
};

/**
 * A secret named by `running.json`. It must lie below the directory of that file: a `running.json` in an untrusted
 * directory could otherwise make the CLI send any file to an address of its choice.
 */
const nearby = (file: string, named: string, what: string): string => {
  const folder = realpathSync(dirname(file));
  let path: string;
  try {
    path = realpathSync(named);
  } catch (cause) {
    throw new UsageError(`${file}: ${what} ${named} cannot be read`, { cause });
  }
  if (!path.startsWith(folder + sep))
    throw new UsageError(`${file}: ${what} ${named} lies outside of ${folder}`);
  return path;
};

type Environment = Readonly<Record<string, string | undefined>>;

const tokenFrom = (env: Environment): string | undefined => {
  const { HOLDPOINT_TOKEN: token, HOLDPOINT_TOKEN_FILE: file } = env;
  if (token) {
    if (/\s/.test(token)) throw new UsageError('HOLDPOINT_TOKEN: invalid token');
    return token;
  }
  return file ? readSecret(file, 'HOLDPOINT_TOKEN_FILE') : undefined;
};

const namedRunning = (file: string): RunningText => {
  try {
    return { file, text: readFileSync(file, 'utf8') };
  } catch (cause) {
    throw new UsageError(`HOLDPOINT_RUNNING: ${file} cannot be read`, { cause });
  }
};

/** The `running.json` of the user's earliest start that still runs. A stopped Holdpoint has removed it. */
const pointedRunning = (env: Environment): RunningText | undefined => {
  const pointer = pointerFile(env);
  const file = pointer === undefined ? undefined : readOwnFile(pointer)?.trim();
  if (file === undefined) return undefined;
  if (!isAbsolute(file)) throw new UsageError(`${String(pointer)}: invalid format`);
  const text = readOwnFile(file);
  return text === undefined ? undefined : { file, text };
};

const fromRunning = (env: Environment, directory: string, token: string | undefined): Settings => {
  const { HOLDPOINT_RUNNING: named } = env;
  const running = named ? namedRunning(named) : (findRunning(directory) ?? pointedRunning(env));
  if (running === undefined)
    throw new UsageError('no Holdpoint runs here: start one with `npm start`, or set HOLDPOINT_NATS_URL');
  const { natsUrl, natsSeedFile, tokenFile, services } = parseRunning(running.file, running.text);
  if (natsUrl === undefined) throw new UsageError('Holdpoint is still starting: try again in a moment');
  const { file } = running;
  return {
    natsUrl,
    seed: natsSeedFile ? readLogin(nearby(file, natsSeedFile, 'natsSeedFile'), 'natsSeedFile') : undefined,
    token: token ?? (tokenFile ? readSecret(nearby(file, tokenFile, 'tokenFile'), 'tokenFile') : undefined),
    ...(services?.approvals !== undefined && { consoleUrl: services.approvals }),
  };
};

/**
 * Settings from the environment, else from a Holdpoint started in this directory or above, else from the user's
 * earliest start that still runs. An address from the environment is never combined with local secrets: they belong to another server.
 */
export const readSettings = (env: Environment, directory: string): Settings => {
  const { HOLDPOINT_NATS_URL: natsUrl, HOLDPOINT_NATS_SEED_FILE: seedFile } = env;
  const token = tokenFrom(env);
  if (!natsUrl) return fromRunning(env, directory, token);
  return {
    natsUrl,
    seed: seedFile ? readLogin(seedFile, 'HOLDPOINT_NATS_SEED_FILE') : undefined,
    token,
  };
};
