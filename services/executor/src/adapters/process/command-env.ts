/** A whole environment: nothing is added to it by whoever starts a program with it. */
export type Environment = Readonly<Record<string, string>>;

const KEPT = /^(PATH|HOME|LANG|LC_[A-Z]+|TMPDIR|USER|SHELL)$/;
/** They hold secrets of the executor, or would lead git elsewhere: not even by name are they handed on. */
const NEVER = /^(HOLDPOINT_|GIT_)/;

/** What of the executor's own environment commands may see: what programs need to run, and what is named. */
export const commandEnv = (
  host: Readonly<Record<string, string | undefined>>,
  named: readonly string[] = [],
): Environment => {
  const kept = Object.entries(host).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !NEVER.test(entry[0]) && (KEPT.test(entry[0]) || named.includes(entry[0])),
  );
  return { ...Object.fromEntries(kept), TERM: 'dumb' };
};
