/** Words as the tables cut them that are searched by words: letters and digits, of whatever script. */
const WORD = /[a-zA-Z0-9\u0080-\u{10FFFF}]+/gu;
const WORDS_MAX = 20;

const wordsOf = (search: string | undefined): readonly string[] =>
  search?.match(WORD)?.slice(0, WORDS_MAX) ?? [];

const queryFor = (words: readonly string[], last = ''): string | undefined =>
  words.length === 0 ? undefined : `${words.map((word) => `'${word}'`).join(' & ')}${last}`;

/** All of the words, as a `tsquery` that is still to be put in lower case; undefined where nothing is searched for. */
export const queryOf = (search: string | undefined): string | undefined => queryFor(wordsOf(search));

/** Shorter beginnings are the beginnings of so much that finding all of it would take long. */
const BEGINNING_MIN = 3;

/** The same for whoever is still typing: the last word may be the beginning of one. */
export const typedQueryOf = (search: string | undefined): string | undefined => {
  const words = wordsOf(search);
  return queryFor(words, (words.at(-1)?.length ?? 0) < BEGINNING_MIN ? '' : ':*');
};
