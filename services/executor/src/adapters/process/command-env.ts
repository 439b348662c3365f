/** A whole environment: nothing is added to it by whoever starts a program with it. */
export type Environment = Readonly<Record<string, string>>;

const KEPT = /^(PATH|HOME|LANG|LC_[A-Z]+|TMPDIR|USER|SHELL)$/;
/** They hold secrets of the executor, or would lead git elsewhere: not even by name are they handed on. */
const NEVER = /^(HOLDPOINT_|GIT_)/;

/** They decide which code a program is made of. */
const LOADER = /^(PATH$|LD_|DYLD_)/;

/** Whether a step may give its scripts a variable of that name. */
export const isDeclarable = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name) && !NEVER.test(name) && !LOADER.test(name);

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
