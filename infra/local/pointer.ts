import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pointerFile } from '@holdpoint/cli/bus/running-pointer';
import { readIfPresent } from '../credentials/keep.ts';
import { messageOf } from './problem.ts';
import { findRunning, runningFile } from './running.ts';

/** Whether the pointer leads to a stack that runs, and that is not on this data folder. */
const isTaken = async (text: string | undefined, mine: string): Promise<boolean> => {
  const other = text?.trim() ?? '';
  return other !== '' && other !== mine && (await findRunning(dirname(other))) !== undefined;
};

const leave = async (pointer: string, mine: string): Promise<() => Promise<void>> => {
  await mkdir(dirname(pointer), { recursive: true, mode: 0o700 });
  const draft = `${pointer}.${process.pid}`;
  await writeFile(draft, `${mine}\n`, { mode: 0o600 });
  await rename(draft, pointer);
  return async () => {
    if ((await readIfPresent(pointer))?.trim() === mine) await rm(pointer, { force: true });
  };
};

/**
 * Registers this Holdpoint for the user's command line in every folder. An earlier registration stays. Returns a function
 * that removes the registration. If the file cannot be written, the start continues with a warning.
 */
export const pointHere = async (
  env: NodeJS.ProcessEnv,
  dataDir: string,
  say: (line: string) => void,
): Promise<() => Promise<void>> => {
  const pointer = pointerFile(env);
  const mine = runningFile(dataDir);
  const nothing = async () => undefined;
  if (pointer === undefined) return nothing;
  try {
    const other = await readIfPresent(pointer);
    if (!(await isTaken(other, mine))) return await leave(pointer, mine);
    say(`  outside of this folder, holdpoint talks to the earlier start ${other?.trim() ?? ''}`);
    say(`  to reach this one from anywhere, set HOLDPOINT_RUNNING=${mine}`);
    return nothing;
  } catch (error) {
    say(`  the command line will not find this start from elsewhere: ${messageOf(error)}`);
    return nothing;
  }
};
