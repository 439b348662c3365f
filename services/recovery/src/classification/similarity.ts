import { normalized } from './fingerprint.ts';

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/**
 * Approaches at least this similar count as the same. Paraphrases reach it; different approaches to the same
 * goal in the same file do not.
 */
export const DEFAULT_SIMILARITY = 0.5;

/**
 * Weight of a word by its role: the approach, its means, its goal (which many approaches share), or its
 * place.
 */
const WEIGHTS = { way: 1, means: 3, end: 0.5, place: 0.5 } as const;
/** Weight of a pair of neighbors: words count for more than their order. */
const PAIR_WEIGHT = 0.5;

/** Words that start a role, which lasts until the next of them or the end of the clause. */
const LEADS: ReadonlyMap<string, keyof typeof WEIGHTS> = new Map(
  Object.entries({
    ...Object.fromEntries(words('with via use uses using').map((word) => [word, 'means'])),
    ...Object.fromEntries(words('to so because').map((word) => [word, 'end'])),
    ...Object.fromEntries(words('in on at within').map((word) => [word, 'place'])),
    ...Object.fromEntries(
      words('by and of from for into instead before after inside around').map((word) => [word, 'way']),
    ),
  } as const),
);

/** Words that say nothing about an approach. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  words(`
  the and for with that this these those from into onto over under then than when where which who whom whose what how why
  was were are been being has have had does did not but its his her their our your they them you she him one also only just
  very more most less least some any all each every both few other another such same own too can could will would shall
  should may might must now again still yet here there out off above below between through during before after about
  against because until while
  try tried trying tries attempt attempted attempting attempts approach approaches way ways idea instead using use used uses
  make made makes making let get got gets getting set sets setting put puts going went goes work works worked working
  fix fixed fixes fixing solve solved solves solving solution issue issues problem problems error errors fail fails failed
  failing failure failures code file files function functions method methods class change changed changes changing first
  second third next last new old time times step steps session decided decide want wanted need needs needed really simply
  directly so-called correctly properly order sure thing things run runs running ran test tests
`),
);

/** Each word stands for the others on its line. */
const SYNONYMS = new Map(
  [
    'replace rewrite rewrote rewritten swap switch migrate substitut exchang reimplement port',
    'add insert introduc creat append includ',
    'remov delet drop strip eliminat discard',
    'increas rais bump extend enlarg rais lengthen longer',
    'decreas reduc lower shrink shorten',
    'mock stub fake faked',
    'wrap enclos surround',
    'catch caught handl trap swallow',
    'updat upgrad bump modif adjust tweak edit alter amend patch',
    'mov relocat transfer',
    'renam relabel',
    'parser parse pars parsing',
    'regex regexp regular',
    'cache cach memoiz memois',
    'lock mutex synchroniz',
    'retry retri',
    'async asynchron',
    'config configur configuration setting',
    'dependenc depend package librari library',
    'hand-written handwritten manual',
  ].flatMap((line) => {
    const [first = '', ...others] = line.split(' ');
    return others.map((other) => [other, first] as const);
  }),
);

const ENDINGS = /(?:ations?|ingly|edly|ments?|ities|ness|ings?|ied|ies|ers?|ed|es|s|e|ly)$/;

/** Without its ending if enough remains, and without a doubled letter before it. */
const stem = (word: string): string => {
  const cut = word.replace(ENDINGS, '');
  if (cut.length < 3) return word;
  return cut.replace(/([b-df-hj-np-tv-z])\1$/, '$1');
};

const wordOf = (word: string): string => {
  const cut = stem(word);
  return SYNONYMS.get(word) ?? SYNONYMS.get(cut) ?? cut;
};

/** File names and identifiers: they say where, not how. */
const isName = (token: string): boolean =>
  /[a-z]\.[a-z]{1,5}$|[a-z][A-Z]|_|\(\)|::|^<dir>/.test(token) || /^[`'"].*[`'"]$/.test(token);

type WeightedWord = readonly [word: string, weight: number];

const BEFORE = '.([{';
const BEHIND = '.,;:!?)]}';

/** Without surrounding punctuation. */
const withoutMarks = (token: string): string => {
  let [from, to] = [0, token.length];
  while (from < to && BEFORE.includes(token.charAt(from))) from += 1;
  while (to > from && BEHIND.includes(token.charAt(to - 1))) to -= 1;
  return token.slice(from, to);
};

/** The meaningful words in order. */
const wordsIn = (text: string): readonly WeightedWord[] => {
  let says: keyof typeof WEIGHTS = 'way';
  return text.split(/\s+/).flatMap((token): readonly WeightedWord[] => {
    const bare = withoutMarks(token);
    const weight = isName(bare) ? Math.min(WEIGHTS.place, WEIGHTS[says]) : WEIGHTS[says];
    const found = (
      bare
        .toLowerCase()
        .replaceAll(/<\w+>/g, ' ')
        .match(/\p{L}{3,}/gu) ?? []
    )
      .filter((word) => !STOP_WORDS.has(word))
      .map((word): WeightedWord => [wordOf(word), weight]);
    const lead = LEADS.get(bare.toLowerCase());
    if (lead !== undefined) says = lead;
    if (/[.,;:!?]$/.test(token)) says = 'way';
    return found;
  });
};

const weightsOf = (text: string): ReadonlyMap<string, number> => {
  const found = wordsIn(normalized(text));
  const pairs = found.slice(1).map(([word, weight], at): WeightedWord => {
    const [before = '', its = 0] = found[at] ?? [];
    return [[before, word].sort().join(' '), PAIR_WEIGHT * Math.min(weight, its)];
  });
  const weights = new Map<string, number>();
  for (const [key, weight] of [...found, ...pairs]) weights.set(key, Math.max(weight, weights.get(key) ?? 0));
  return weights;
};

const total = (weights: Iterable<number>): number => [...weights].reduce((sum, weight) => sum + weight, 0);

/**
 * Similarity of two approaches from 0 to 1: the Dice coefficient (twice the common weight, divided by the sum
 * of both weights) over the distinct words and neighboring pairs of both texts, each with its weight.
 *
 * Words come from the normalized, lower-cased text: at least three letters, no stop words (`STOP_WORDS`), no
 * endings, and one word per group of synonyms (`SYNONYMS`). It compares words and not letters, because `add a
 * cache` and `add a catch` differ. It uses Dice and not Jaccard, because half of the words in common is much
 * for two sentences about the same subject.
 */
export const similarity = (a: string, b: string): number => {
  if (a === b) return 1;
  const [ofA, ofB] = [weightsOf(a), weightsOf(b)];
  const both = total(ofA.values()) + total(ofB.values());
  // Texts without words, such as two numbers, are equal if their normalized texts are.
  if (both === 0) return normalized(a).trim().toLowerCase() === normalized(b).trim().toLowerCase() ? 1 : 0;
  const common = total([...ofA].map(([key, weight]) => Math.min(weight, ofB.get(key) ?? 0)));
  return Math.min(1, (2 * common) / both);
};
