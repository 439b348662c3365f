/** A complete environment: the process gets nothing else. */
export type Environment = Readonly<Record<string, string>>;

const KEPT = /^(PATH|HOME|LANG|LC_[A-Z]+|TMPDIR|USER|SHELL)$/;
/** Secrets of the executor, and variables that redirect git. They are never passed on. */
const NEVER = /^(HOLDPOINT_|GIT_)/;

/** Variables that choose the code of a process. */
const LOADER = /^(PATH$|LD_|DYLD_)/;

/** Whether a step may set a variable of this name for its scripts. */
export const isDeclarable = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name) && !NEVER.test(name) && !LOADER.test(name);

/** The part of the executor's environment that commands see: the basics, and the listed names. */
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
