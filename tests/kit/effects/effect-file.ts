import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '@holdpoint/infra/credentials/keep';

/**
 * The number of applications of each effect: the lines of the sample workflow's file, counted by their
 * keys.
 */
export const appliedByKey = async (
  workspace: string,
  file = 'sample.txt',
): Promise<ReadonlyMap<string, number>> => {
  const counts = new Map<string, number>();
  for (const line of (await readLines(join(workspace, file))).filter((each) => each !== '')) {
    const key = line.slice(0, line.indexOf('\t'));
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
};

const readLines = async (path: string): Promise<readonly string[]> => {
  try {
    return (await readFile(path, 'utf8')).split('\n');
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
};
