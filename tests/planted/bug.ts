/** A test that must fail, by file and by title in the source. The title of a test in Python is the name of its function. */
export type Catch = { readonly file: string; readonly title: string };

export const isPython = ({ file }: { readonly file: string }): boolean => file.endsWith('.py');

/** A change of one place in the real source. */
export type Bug = {
  readonly name: string;
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Every one of them must fail. */
  readonly caughtBy: readonly Catch[];
};

export const occurrences = (source: string, text: string): number => source.split(text).length - 1;

export const planted = (source: string, { find, replace }: Pick<Bug, 'find' | 'replace'>): string =>
  // A function, because a string would have its dollar signs interpreted.
  source.replace(find, () => replace);

/** The reason why a bug cannot be planted, or undefined. */
export const whyNotPlantable = (source: string, { name, file, find, replace }: Bug): string | undefined => {
  const count = occurrences(source, find);
  if (count !== 1) return `${name}: ${file} has its text ${String(count)} times`;
  return find === replace ? `${name}: it changes nothing` : undefined;
};
