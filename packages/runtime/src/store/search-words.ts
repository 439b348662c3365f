/** Letters and digits of any script. Half a surrogate pair is none: the server stores no such text. */
const WORD = /[a-zA-Z0-9\u0080-\uD7FF\uE000-\u{10FFFF}]+/gu;
const WORDS_MAX = 20;
/** Of a longer word only its beginning is found. */
const WORD_MAX = 200;

/** The words of texts, each once, for a column of words. */
export const searchable = (...texts: readonly string[]): string =>
  [
    ...new Set(
      texts
        .join(' ')
        .match(WORD)
        ?.map((word) => word.slice(0, WORD_MAX).toWellFormed()),
    ),
  ].join(' ');

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
