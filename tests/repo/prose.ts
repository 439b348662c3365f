import { filesEnding, readSource } from './source-tree.ts';

/** Constructions that docs/style.md rules out. */
const MARKERS: readonly RegExp[] = [
  /\bwhat (?:is|has|was|had|were|are|does|did|it|they|comes|came|people|somebody|nobody|cannot|may|can|must|follows|waits|stands|ends|runs|fails|goes|another|each|others)\b/i,
  /\b(?:whoever|whatever|whichever|whomever|nobody|somebody)\b/i,
  /\b(?:is|are|was|were|be|been|being) (?:not |once |also |then )?(?:told|said|asked|given|let|heard|looked at|let in|gone on)\b/i,
  /\b(?:becomes?|became|comes?|came) of\b/i,
  /\banew\b|\bat the most\b|\bin hand\b|\bthe like of\b|\bfor ever\b/i,
  /\b(?:he|him|his|she|her)\b/,
];

export type Kind = 'comment' | 'string' | 'title' | 'doc';
export type Text = { readonly kind: Kind; readonly file: string; readonly text: string };

const WORDS_MIN = 4;
const text = (kind: Kind, file: string, raw: string): readonly Text[] => {
  const plain = raw.replace(/\s+/g, ' ').trim();
  return plain.split(' ').length < WORDS_MIN ? [] : [{ kind, file, text: plain }];
};

const BLOCK = /\/\*\*?([\s\S]*?)\*\//g;
const LINES = /(?:^[ \t]*\/\/(?! oxlint| @ts).*\n)+/gm;
const TITLE = /\b(?:test|it|describe)(?:\.[a-zA-Z.]+(?:\([^)]*\))?)?\(\s*(['"`])((?:(?!\1).){8,200})\1/g;
const STRING = /(['"`])((?:(?!\1)[^\\\n]){12,300})\1/g;
const SENTENCE = /^[A-Za-z][^;{}=<>]*\s[^;{}=<>]*$/;

const ofSource = (file: string, source: string): readonly Text[] => {
  const comments = [
    ...[...source.matchAll(BLOCK)].map(([, body = '']) => body.replace(/^\s*\* ?/gm, '')),
    ...[...source.matchAll(LINES)].map(([lines]) => lines.replace(/^\s*\/\/+ ?/gm, '')),
  ].flatMap((each) => text('comment', file, each));
  if (/\.test\.tsx?$/.test(file))
    return [
      ...comments,
      ...[...source.matchAll(TITLE)].flatMap(([, , title = '']) => text('title', file, title)),
    ];
  if (file.startsWith('tests/')) return comments;
  const code = source.replace(BLOCK, '').replace(/^\s*\/\/.*$/gm, '');
  const strings = [...code.matchAll(STRING)]
    .map(([, , each = '']) => each)
    .filter((each) => SENTENCE.test(each));
  return [...comments, ...strings.flatMap((each) => text('string', file, each))];
};

const ofDocument = (file: string, markdown: string): readonly Text[] =>
  markdown
    .replace(/```[\s\S]*?```/g, '')
    .replace(/`[^`\n]*`/g, 'X')
    .replace(/\]\([^)]*\)/g, ']')
    .split(/\n\s*\n|\n(?=[|\-#])| \| |(?<=[.!?]) /)
    .flatMap((each) => text('doc', file, each));

/** Every text of one file, with its kind. */
export const textsOf = (file: string, content: string): readonly Text[] =>
  file.endsWith('.md') ? ofDocument(file, content) : ofSource(file, content);

export const isMarked = ({ text: each }: Pick<Text, 'text'>): boolean =>
  MARKERS.some((marker) => marker.test(each));

const NOT_OURS = /\/(?:corpus|samples|schemas|rendered)\//;
/** These pages quote the constructions. */
const QUOTES = ['docs/style.md', 'tests/repo/prose.ts', 'tests/repo/prose.test.ts'];

/** Every text of the repository. */
export const readTexts = (): readonly Text[] =>
  [
    ...filesEnding('.ts'),
    ...filesEnding('.tsx'),
    ...filesEnding('.mjs'),
    ...filesEnding('.md', ['docs', 'packages', 'services', 'examples', 'infra', 'tests']),
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
  ]
    .filter((file) => !NOT_OURS.test(file) && !QUOTES.includes(file) && !file.includes('/dist/'))
    .flatMap((file) => textsOf(file, readSource(file)));
