import type { GitExec } from './exec.ts';

/** What merging two commits gives. The tree of a conflict holds files with conflict markers. */
export type Merged = {
  readonly tree: string;
  readonly conflicts: readonly string[];
  /** What git says about it, for people. */
  readonly messages: string;
};

const CONFLICT = 1;

/** Merges without a work tree and without an index, so that nothing has to be put back when it conflicts. */
export const mergeTreeWith = async ({ run }: GitExec, ours: string, theirs: string): Promise<Merged> => {
  const { exitCode, stdout } = await run(
    ['merge-tree', '--write-tree', '-z', '--name-only', '--messages', '--', ours, theirs],
    { answers: [0, CONFLICT] },
  );
  const [tree = '', ...rest] = stdout.toString('utf8').split('\0');
  const end = rest.indexOf('');
  const conflicts = exitCode === CONFLICT ? rest.slice(0, end) : [];
  return { tree, conflicts: [...new Set(conflicts)], messages: messagesIn(rest.slice(end + 1)) };
};

/** Each is a number of paths, the paths, a kind, and the text. */
const messagesIn = (fields: readonly string[]): string => {
  const texts: string[] = [];
  for (let at = 0; at < fields.length;) {
    const paths = Number(fields[at]);
    if (!Number.isInteger(paths) || fields[at] === '') break;
    texts.push((fields[at + paths + 2] ?? '').trimEnd());
    at += paths + 3;
  }
  return texts.join('\n');
};
