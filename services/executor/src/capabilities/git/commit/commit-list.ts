import type { Git } from '../../../adapters/git/git.ts';

const SUBJECT_CHARACTERS_MAX = 200;

export type CommitShown = { readonly id: string; readonly subject: string };

/** The commits between two commits, latest first. */
export const commitsBetween = async (
  git: Git,
  from: string,
  to: string,
  max: number,
): Promise<readonly CommitShown[]> => {
  const argv = ['log', '-z', '--no-show-signature', '--format=%H %s', `--max-count=${String(max)}`];
  const lines = await git.list([...argv, '--end-of-options', `${from}..${to}`, '--']);
  return lines.map((line) => {
    const end = line.indexOf(' ');
    return {
      id: line.slice(0, end),
      subject: line
        .slice(end + 1)
        .slice(0, SUBJECT_CHARACTERS_MAX)
        .toWellFormed(),
    };
  });
};
