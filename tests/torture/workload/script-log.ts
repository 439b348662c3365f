import { readIfPresent } from '@holdpoint/infra/credentials/keep';

/** A line of a script: it ran, or it began or ended under a lock. */
export type WorkLine = {
  readonly what: 'ran' | 'begin' | 'end';
  readonly task: string;
  /** The node, or the lock. */
  readonly about: string;
  /** The same for all lines of one run of a script. */
  readonly token: string;
};

const LINE = /^(ran|begin|end) (\S+) (\S+) (\S+)$/;

export const parseWorkLine = (line: string): WorkLine => {
  const [, what, task, about, token] = LINE.exec(line) ?? [];
  if (what === undefined || task === undefined || about === undefined || token === undefined)
    throw new Error(`not a line of a script: ${JSON.stringify(line)}`);
  return { what: what as WorkLine['what'], task, about, token };
};

/** Every line in the order of writing. */
export const readWorkBook = async (file: string): Promise<readonly WorkLine[]> =>
  ((await readIfPresent(file)) ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map(parseWorkLine);
