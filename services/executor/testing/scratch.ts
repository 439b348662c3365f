import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A temporary folder for one test, and its removal. */
export const scratchFolder = async (): Promise<{
  readonly path: string;
  readonly remove: () => Promise<void>;
}> => {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'holdpoint-executor-')));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
};
