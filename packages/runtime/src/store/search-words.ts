/** Words as the search tables split text: letters and digits of any script. */
const WORD = /[a-zA-Z0-9\u0080-\u{10FFFF}]+/gu;
const WORDS_MAX = 20;

const wordsOf = (search: string | undefined): readonly string[] =>
  search?.match(WORD)?.slice(0, WORDS_MAX) ?? [];

const queryFor = (words: readonly string[], last = ''): string | undefined =>
  words.length === 0 ? undefined : `${words.map((word) => `'${word}'`).join(' & ')}${last}`;

/** All words as a `tsquery`, still to be lower-cased; undefined for an empty search. */
export const queryOf = (search: string | undefined): string | undefined => queryFor(wordsOf(search));

/** Shorter prefixes match so many words that the search would take long. */
const BEGINNING_MIN = 3;

/** The same with the last word as a prefix, for search while typing. */
export const typedQueryOf = (search: string | undefined): string | undefined => {
  const words = wordsOf(search);
  return queryFor(words, (words.at(-1)?.length ?? 0) < BEGINNING_MIN ? '' : ':*');
};
