/** A test that has to go red: its file, and its title as the source has it. */
export type Catch = { readonly file: string; readonly title: string };

/** A change of one place in the real source that makes it wrong. */
export type Bug = {
  readonly name: string;
  readonly file: string;
  /** Text that the file has exactly once. */
  readonly find: string;
  readonly replace: string;
  /** Every one of them has to go red. */
  readonly caughtBy: readonly Catch[];
};

export const occurrences = (source: string, text: string): number => source.split(text).length - 1;

/** The source with the bug in it. */
export const planted = (source: string, { find, replace }: Pick<Bug, 'find' | 'replace'>): string =>
  // A function, because a text would have its dollar signs read as patterns.
  source.replace(find, () => replace);

/** Why a bug cannot be planted in a source, if so. */
export const whyNotPlantable = (source: string, { name, file, find, replace }: Bug): string | undefined => {
  const count = occurrences(source, find);
  if (count !== 1) return `${name}: ${file} has its text ${String(count)} times`;
  return find === replace ? `${name}: it changes nothing` : undefined;
};
