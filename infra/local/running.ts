import { access, constants, link, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readIfPresent } from '../credentials/keep.ts';
import { commandOf, isAlive } from './process/pid.ts';
import { codeOf, Problem } from './problem.ts';

/** What a running stack says of itself, in `running.json` of its data folder. The CLI reads it too. */
export type Running = {
  readonly pid: number;
  /** The command line of that process, so that a number used again is not mistaken for it. */
  readonly command: string;
  readonly startedAt: string;
  /** Absent as long as it is still starting. */
  readonly natsUrl?: string;
  /** Which server it is, and where it came from. */
  readonly natsServer?: string;
  readonly natsSeedFile?: string;
  readonly tokenFile?: string;
  readonly database?: string;
  readonly services?: Readonly<Record<string, string>>;
  readonly workspace?: string;
  readonly logs?: string;
  readonly credentials?: string;
};

export const runningFile = (dataDir: string): string => join(dataDir, 'running.json');

const areTexts = (values: object): boolean =>
  Object.values(values).every((value) => typeof value === 'string');

const isRunning = (value: unknown): value is Running => {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, services = {}, ...texts } = value as Readonly<Record<string, unknown>>;
  return (
    Number.isInteger(pid) &&
    typeof services === 'object' &&
    services !== null &&
    areTexts(services) &&
    areTexts(texts) &&
    ['command', 'startedAt'].every((name) => name in texts)
  );
};

/** The record in a text; undefined if the text has none. */
export const parseRunning = (text: string): Running | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return isRunning(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Who runs on this data folder now. A file that a killed process left counts for nothing. */
export const findRunning = async (dataDir: string): Promise<Running | undefined> => {
  const text = await readIfPresent(runningFile(dataDir));
  if (text === undefined) return undefined;
  const running = parseRunning(text);
  if (running === undefined || !isAlive(running.pid)) return undefined;
  return (await commandOf(running.pid)) === running.command ? running : undefined;
};

/** `linked` if the file was free; else its holder, or undefined if the file is stale. */
const linked = async (draft: string, file: string): Promise<'linked' | Running | undefined> => {
  try {
    await link(draft, file);
    return 'linked';
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return await findRunning(dirname(file));
  } finally {
    await rm(draft, { force: true });
  }
};

export type Claim = {
  readonly publish: (details: Partial<Running>) => Promise<void>;
  readonly release: () => Promise<void>;
};

const makeFolder = async (path: string): Promise<void> => {
  try {
    await mkdir(path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error;
  }
};

/** `mkdir` with `recursive` never ends where a folder that exists refuses a new one with ENOENT, as `/proc` does. */
const makeFolders = async (path: string): Promise<void> => {
  try {
    await makeFolder(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolders(dirname(path));
    await makeFolder(path);
  }
};

/**
 * Takes the data folder for this process, or returns who has it. Of two that start at once one gets it: the file appears
 * whole, and is never overwritten.
 */
export const claimDataDir = async (
  dataDir: string,
): Promise<{ readonly claim: Claim } | { readonly running: Running }> => {
  try {
    await makeFolders(dataDir);
    await access(dataDir, constants.W_OK);
  } catch (error) {
    const code = codeOf(error) ?? 'unknown error';
    throw new Problem(
      ['EEXIST', 'ENOTDIR'].includes(code)
        ? `a file is in the place of ${dataDir}: remove it, or set HOLDPOINT_DATA`
        : `cannot write to ${dataDir} (${code}): start in a folder of your own, or set HOLDPOINT_DATA`,
      { cause: error },
    );
  }
  const file = runningFile(dataDir);
  const mine: Running = {
    pid: process.pid,
    command: await commandOf(process.pid),
    startedAt: new Date().toISOString(),
  };
  const draft = `${file}.${process.pid}`;
  const write = (contents: Running) =>
    writeFile(draft, `${JSON.stringify(contents, null, 2)}\n`, { mode: 0o600 });
  for (;;) {
    await write(mine);
    const running = await linked(draft, file);
    if (running === 'linked') break;
    if (running !== undefined) return { running };
    await rm(file, { force: true });
  }
  const publish = async (details: Partial<Running>) => {
    await write({ ...mine, ...details });
    await rename(draft, file);
  };
  const release = async () => {
    const owner = parseRunning((await readIfPresent(file)) ?? '');
    if (owner?.pid === process.pid) await rm(file, { force: true });
  };
  return { claim: { publish, release } };
};
