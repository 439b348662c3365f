/** Letters and digits of any script. Half a surrogate pair is none: the server stores no such text. */
const WORD = /[a-zA-Z0-9\u0080-\uD7FF\uE000-\u{10FFFF}]+/gu;
const WORDS_MAX = 20;
/** Of a longer word only its beginning is found. */
const WORD_MAX = 200;

/** The only rule for the words of a text and of a search. A capital sigma has two small ones, by its place in the word. */
const wordsIn = (text: string): readonly string[] =>
  text
    .match(WORD)
    ?.map((word) => word.toLowerCase().replaceAll('ς', 'σ').slice(0, WORD_MAX).toWellFormed()) ?? [];

/** The words of texts, each once, for a column of words. */
export const searchable = (...texts: readonly string[]): string =>
  [...new Set(wordsIn(texts.join(' ')))].join(' ');

const wordsOf = (search = ''): readonly string[] => wordsIn(search).slice(0, WORDS_MAX);

/** Whether a text of {@link searchable} has all words of the search. */
export const hasWords = (text: string, search: string): boolean => {
  const words = new Set(text.split(' '));
  return wordsOf(search).every((word) => words.has(word));
};

const queryFor = (words: readonly string[], last = ''): string | undefined =>
  words.length === 0 ? undefined : `${words.map((word) => `'${word}'`).join(' & ')}${last}`;

/** All words as a `tsquery`; undefined for an empty search. */
export const queryOf = (search: string | undefined): string | undefined => queryFor(wordsOf(search));

/** Shorter prefixes match so many words that the search would take long. */
const BEGINNING_MIN = 3;

/** The same with the last word as a prefix, for search while typing. */
export const typedQueryOf = (search: string | undefined): string | undefined => {
  const words = wordsOf(search);
  return queryFor(words, (words.at(-1)?.length ?? 0) < BEGINNING_MIN ? '' : ':*');
};
