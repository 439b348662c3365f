import { access, constants, link, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { readIfPresent } from '../credentials/keep.ts';
import { commandOf, isAlive } from './process/pid.ts';
import { codeOf, Problem } from './problem.ts';

/** What a running stack says of itself, in `running.json` of its data folder. The CLI reads it too. */
export const Running = z.object({
  pid: z.int(),
  /** The command line of that process, so that a number used again is not mistaken for it. */
  command: z.string(),
  startedAt: z.string(),
  /** Absent as long as it is still starting. */
  natsUrl: z.string().optional(),
  /** Which server it is, and where it came from. */
  natsServer: z.string().optional(),
  natsSeedFile: z.string().optional(),
  tokenFile: z.string().optional(),
  database: z.string().optional(),
  services: z.record(z.string(), z.string()).optional(),
  workspace: z.string().optional(),
  logs: z.string().optional(),
  credentials: z.string().optional(),
});
export type Running = z.infer<typeof Running>;

export const runningFile = (dataDir: string): string => join(dataDir, 'running.json');

/** Who runs on this data folder now. A file that a killed process left counts for nothing. */
export const findRunning = async (dataDir: string): Promise<Running | undefined> => {
  const text = await readIfPresent(runningFile(dataDir));
  if (text === undefined) return undefined;
  const parsed = Running.safeParse(parseJson(text));
  if (!parsed.success || !isAlive(parsed.data.pid)) return undefined;
  return (await commandOf(parsed.data.pid)) === parsed.data.command ? parsed.data : undefined;
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
    const owner = Running.safeParse(parseJson((await readIfPresent(file)) ?? ''));
    if (owner.success && owner.data.pid === process.pid) await rm(file, { force: true });
  };
  return { claim: { publish, release } };
};
