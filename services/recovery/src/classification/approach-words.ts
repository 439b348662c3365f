import { normalized } from './fingerprint.ts';

const words = (text: string): readonly string[] => text.trim().split(/\s+/);
const setOf = (text: string): ReadonlySet<string> => new Set(words(text));

/** Role of a word: the approach, its means (library, pattern, tool), its goal, its place, or a rejected means. */
type Role = 'way' | 'means' | 'end' | 'place' | 'without';

const WEIGHTS: Readonly<Record<Role, number>> = { way: 1, means: 2, end: 0.5, place: 0.5, without: 0.5 };

/** Words that start a role, which lasts until the next of them or the end of the clause. */
const LEADS: ReadonlyMap<string, Role> = new Map(
  (
    [
      ['means', 'with via use uses used using through by'],
      ['end', 'to so because'],
      ['place', 'in on at within'],
      ['without', 'instead rather without unlike not'],
      ['way', 'and but of from for into before after inside around as that which where when while then'],
    ] as const
  ).flatMap(([role, leads]) => words(leads).map((lead) => [lead, role] as const)),
);

/** These verbs lead to a means where a clause begins. */
const CHOICES = setOf(
  'adopt adopting choose choosing install installing import importing pick picking try trying',
);
const BEFORE_CHOICE = setOf('i we and then now to');

/** The means of these verbs follow the word: `switch to luxon`, `base it on luxon`. */
const VERBS_WITH_MEANS: readonly (readonly [verbs: ReadonlySet<string>, leads: ReadonlySet<string>])[] = [
  [setOf('switch swap migrat port convert mov cal'), setOf('to into')],
  [setOf('stor keep sav plac rend'), setOf('in on at')],
  [setOf('bas build built rel rely'), setOf('on upon')],
];

/** The object of these verbs is a rejected means. */
const VERBS_WITHOUT = setOf('replac substitut exchang swap');
/** These words end the part about a rejected means. */
const ENDS_WITHOUT = setOf('with by for and but then');

/** Nouns beside the name of a means: `the luxon library`, `library luxon`, `observer pattern`. */
const KINDS_OF_MEANS = setOf(
  'librar library packag package modul module framework crat crate gem plugin driver pattern algorithm',
);

/** Words that say nothing about an approach. */
const STOP_WORDS: ReadonlySet<string> = setOf(`
  an as at be by do go if in is it me my no of on or so to up us we
  the and for with that this these those from into onto over under then than when where which who whom whose what how why
  was were are been being has have had does did not but its his her their our your they them you she him one also only just
  very more most less least some any all each every both few other another such same own too can could will would shall
  should may might must now again still yet here there out off above below between through during before after about
  against because until while rather without unlike around inside upon via within into
  try tried trying tries attempt attempted attempting attempts approach approaches way ways idea instead using use used uses
  make made makes making let get got gets getting set sets setting put puts going went goes work works worked working
  fix fixed fixes fixing solve solved solves solving solution issue issues problem problems error errors fail fails failed
  failing failure failures code file files function functions method methods class change changed changes changing first
  second third next last new old time times step steps session decided decide want wanted need needs needed really simply
  directly so-called correctly properly order sure thing things run runs running ran test tests
`);

const ENDINGS = /(?:ations?|ingly|edly|ments?|ities|ness|ings?|ied|ies|ers?|ed|es|s|e|ly)$/;

/** Without its ending if enough remains, and without a doubled letter before it. */
const stem = (word: string): string => {
  const cut = word.replace(ENDINGS, '');
  if (cut.length < 3) return word;
  return cut.replace(/([b-df-hj-np-tv-z])\1$/, '$1');
};

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

const wordOf = (word: string): string => {
  const cut = stem(word);
  return SYNONYMS.get(word) ?? SYNONYMS.get(cut) ?? cut;
};

/** File names and identifiers: they say where, not how. */
const isName = (token: string): boolean =>
  /[a-z]\.[a-z]{1,5}$|[a-z][A-Z]|_|\(\)|::|^<dir>/.test(token) || /^[`'"].*[`'"]$/.test(token);

const BEFORE = '.([{';
const BEHIND = '.,;:!?)]}';

/** Without surrounding punctuation. */
const withoutMarks = (token: string): string => {
  let [from, to] = [0, token.length];
  while (from < to && BEFORE.includes(token.charAt(from))) from += 1;
  while (to > from && BEHIND.includes(token.charAt(to - 1))) to -= 1;
  return token.slice(from, to);
};

const endsClause = (token: string): boolean => /[.,;:!?]$/.test(token);

const isKind = (token: string): boolean => KINDS_OF_MEANS.has(stem(token.toLowerCase()));

/** A noun of a kind makes the word before it a means, else the word behind it. */
const isBesideKind = (tokens: readonly string[], at: number): boolean => {
  const means = (token: string | undefined): boolean =>
    token !== undefined && !STOP_WORDS.has(withoutMarks(token).toLowerCase()) && !endsClause(token);
  const next = tokens[at + 1];
  if (next !== undefined && isKind(withoutMarks(next)) && means(tokens[at])) return true;
  const before = tokens[at - 1];
  return (
    before !== undefined && isKind(withoutMarks(before)) && !endsClause(before) && !means(tokens[at - 2])
  );
};

export type ApproachWord = { readonly word: string; readonly weight: number; readonly role: Role };

/** The role that a token starts, if any. `verbs` are the verbs of its clause so far. */
const startedBy = (
  tokens: readonly string[],
  at: number,
  now: Role,
  verbs: ReadonlySet<string>,
): Role | undefined => {
  const token = withoutMarks(tokens[at] ?? '').toLowerCase();
  const next = withoutMarks(tokens[at + 1] ?? '').toLowerCase();
  if (VERBS_WITHOUT.has(stem(token))) return 'without';
  if (now === 'without' && !ENDS_WITHOUT.has(token)) return undefined;
  const before = tokens[at - 1]?.toLowerCase();
  const begins = before === undefined || endsClause(before) || BEFORE_CHOICE.has(before);
  const isMeans =
    VERBS_WITH_MEANS.some(([of, leads]) => leads.has(token) && [...of].some((verb) => verbs.has(verb))) ||
    (begins && CHOICES.has(token));
  const role = isMeans ? 'means' : LEADS.get(token);
  // `by adding` and `try to add` tell the approach, not a means.
  return role === 'means' && (next.endsWith('ing') || next === 'to') ? 'way' : role;
};

/** `async/await` is no path. */
const PAIR = /(?<![^\s('"`])(\p{L}+)\/(\p{L}+)(?![^\s)'"`,;:!?.])/gu;

/** The meaningful words in order. Texts that differ only in volatile parts have the same words. */
export const approachWords = (text: string): readonly ApproachWord[] => {
  const tokens = normalized(text.replace(PAIR, '$1 $2'))
    .split(/\s+/)
    .filter((token) => token !== '');
  let role: Role = 'way';
  let verbs = new Set<string>();
  return tokens.flatMap((token, at): readonly ApproachWord[] => {
    const bare = withoutMarks(token);
    const own: Role = isBesideKind(tokens, at) && role !== 'without' ? 'means' : role;
    const isMinor = isKind(bare) || (isName(bare) && own !== 'means');
    const weight = isMinor ? Math.min(WEIGHTS.place, WEIGHTS[own]) : WEIGHTS[own];
    const least = own === 'means' ? 2 : 3;
    const found = (
      bare
        .toLowerCase()
        .replaceAll(/<\w+>/g, ' ')
        .match(/[\p{L}\p{N}]{2,}/gu) ?? []
    )
      .filter((word) => word.length >= least && !STOP_WORDS.has(word))
      .map((word) => ({ word: wordOf(word), weight, role: isKind(bare) ? ('way' as const) : own }));
    role = startedBy(tokens, at, role, verbs) ?? role;
    verbs.add(stem(bare.toLowerCase()));
    if (endsClause(token)) [role, verbs] = ['way', new Set()];
    return found;
  });
};
