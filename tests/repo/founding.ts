import { dirname, join } from 'node:path/posix';
import { type Guarantee, missingTests, tablesOf } from './markdown.ts';

/** One row of the page: a requirement with the tests that show it, and whether it is met. */
type Row = {
  readonly id: string;
  readonly verdict: string;
  readonly tests: readonly (Guarantee & { readonly example: string | undefined })[];
};

/** How the check sees a test file; undefined: no such file. */
export type TestFile = { readonly titles: readonly string[]; readonly text: string };

/** A link to a test file, then its titles; `for` names one case of a table test. */
const NAMED = /\[[^\]]+\]\((?<file>[^)]+\.test\.tsx?)\)(?<titles>(?:,? “[^”]+”(?: for “[^”]+”)?)*)/gu;
const TITLE = /“(?<title>[^”]+)”(?: for “(?<example>[^”]+)”)?/gu;

const testsIn = (row: string, page: string, cell: string): Row['tests'] =>
  [...cell.matchAll(NAMED)].flatMap(({ groups: link }) =>
    [...(link?.['titles'] ?? '').matchAll(TITLE)].map(({ groups }) => ({
      row,
      file: join(dirname(page), link?.['file'] ?? ''),
      title: groups?.['title'] ?? '',
      example: groups?.['example'],
    })),
  );

const rowsOf = (page: string, markdown: string): readonly Row[] =>
  tablesOf(markdown)
    .filter(({ header }) => header.at(-1)?.text === 'verdict')
    .flatMap(({ rows }) => rows)
    .map((cells) => {
      const [id = '', , , test = '', verdict = ''] = cells.map(({ text }) => text);
      return { id, verdict, tests: testsIn(id, page, test) };
    });

const OPEN = /^open: .*\S/u;
const DIFFERS = /^differs, because (\S+ ){2,}\S+/u;

const verdictProblem = ({ id, verdict, tests }: Row): readonly string[] => {
  if (verdict === 'works') return tests.length > 0 ? [] : [`"${id}" works, but names no test`];
  if (OPEN.test(verdict) || DIFFERS.test(verdict)) return [];
  return [`"${id}" has the verdict "${verdict}": expected works, "differs, because …" or "open: …"`];
};

const twice = (rows: readonly Row[]): readonly string[] =>
  rows
    .filter(({ id }, at) => rows.findIndex((row) => row.id === id) < at)
    .map(({ id }) => `"${id}" is there twice`);

/** The counts in the head of the page: `**322 rows**: 299 work, 23 differ, 0 are open.` */
const HEAD = /\*\*(\d+) rows\*\*: (\d+) work, (\d+) differ, (\d+) are open\./u;

const countProblem = (rows: readonly Row[], markdown: string): readonly string[] => {
  const counted = (start: string): number => rows.filter(({ verdict }) => verdict.startsWith(start)).length;
  const [works, differs, open] = [counted('works'), counted('differs'), counted('open')];
  const right = `**${String(rows.length)} rows**: ${String(works)} work, ${String(differs)} differ, ${String(open)} are open.`;
  return HEAD.exec(markdown)?.[0] === right ? [] : [`the head of the page must say: ${right}`];
};

/** Everything that is wrong with the page, and its open rows. */
export const checkFounding = (
  page: string,
  markdown: string,
  read: (file: string) => TestFile | undefined,
): { readonly open: readonly string[]; readonly problems: readonly string[] } => {
  const rows = rowsOf(page, markdown);
  const tests = rows.flatMap((row) => row.tests);
  const examples = tests.flatMap(({ row, file, example }) =>
    example === undefined || (read(file)?.text ?? '').includes(example)
      ? []
      : [`"${row}": ${file} has no case "${example}"`],
  );
  return {
    open: rows.filter(({ verdict }) => OPEN.test(verdict)).map(({ id, verdict }) => `${id} ${verdict}`),
    problems: [
      ...(rows.length === 0 ? ['there is no table of requirements'] : []),
      ...twice(rows),
      ...rows.flatMap(verdictProblem),
      ...missingTests(tests, (file) => read(file)?.titles),
      ...examples,
      ...countProblem(rows, markdown),
    ],
  };
};
