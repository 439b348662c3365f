import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { brokenLinks, type Documents, guaranteesIn, missingTests } from './markdown.ts';
import { factsOf, titlesIn } from './source-facts.ts';
import { filesEnding, readSource, ROOT } from './source-tree.ts';

const GUARANTEES = 'docs/reference/guarantees.md';
const repository: Documents = { read: readSource, exists: (path) => existsSync(join(ROOT, path)) };

const titlesOf = (file: string): readonly string[] | undefined =>
  repository.exists(file) ? titlesIn(file, readSource(file)) : undefined;

test('every relative link of the documents leads somewhere', () => {
  const documents = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    ...filesEnding('.md', ['docs', 'packages', 'services', 'examples', 'infra', 'tests']),
  ];
  expect(documents).toContain(GUARANTEES);
  expect(documents.flatMap((path) => brokenLinks(path, repository))).toEqual([]);
});

test('every guarantee names a test that exists', () => {
  const { guarantees, problems } = guaranteesIn(readSource(GUARANTEES));
  expect(problems).toEqual([]);
  expect(missingTests(guarantees, titlesOf)).toEqual([]);
});

describe('the check of links', () => {
  const pages: Readonly<Record<string, string>> = { 'docs/there.md': '# Seen & read\n\n## Seen & read\n' };
  const check = (markdown: string): readonly string[] =>
    brokenLinks('docs/here.md', {
      read: (path) => (path === 'docs/here.md' ? markdown : (pages[path] ?? '')),
      exists: (path) => path === 'docs/here.md' || path === 'src' || Object.hasOwn(pages, path),
    });

  test.each([
    ['[x](gone.md)', 'docs/here.md: gone.md leads nowhere'],
    ['![x](gone.svg)', 'docs/here.md: gone.svg leads nowhere'],
    ['[x][y]\n\n[y]: gone.md', 'docs/here.md: gone.md leads nowhere'],
    ['| a |\n|---|\n| [x](gone.md) |', 'docs/here.md: gone.md leads nowhere'],
    ['[x](there.md#unsaid)', 'docs/here.md: there.md#unsaid names no heading of docs/there.md'],
    ['[x](#unsaid)', 'docs/here.md: #unsaid names no heading of docs/here.md'],
    ['[x](../../secret.md)', 'docs/here.md: ../../secret.md leads out of the repository'],
    ['[x](/etc/passwd)', 'docs/here.md: /etc/passwd leads out of the repository'],
  ])('%s is shown', (markdown, problem) => {
    expect(check(markdown)).toEqual([problem]);
  });

  test('what leads somewhere, or elsewhere, or stands in code, is not shown', () => {
    const good =
      '# Here\n[a](there.md) [b](there.md#seen--read-1) [c](#here) [d](../src) [e](https://nats.io/gone.md)\n`[f](gone.md)`';
    expect(check(good)).toEqual([]);
  });
});

describe('the check of guarantees', () => {
  const table = (cell: string): string =>
    `| promise | how | test |\n|---|---|---|\n| Once | ledger | ${cell} |\n`;
  const check = (
    markdown: string,
    titles: readonly string[] | undefined = ['runs once'],
  ): readonly string[] => {
    const { guarantees, problems } = guaranteesIn(markdown);
    return [...problems, ...missingTests(guarantees, () => titles)];
  };

  test('a test that is there holds it', () => {
    expect(check(table('`a/b.test.ts` › `runs once`'))).toEqual([]);
  });

  test.each([
    ['an empty document', '', ['there is no table of guarantees']],
    ['a promise without a test', table('later'), ['"Once" names no test']],
    [
      'a test that is not there',
      table('`a/b.test.ts` › `runs twice`'),
      ['"Once": a/b.test.ts runs no test called "runs twice"'],
    ],
    [
      'one of two tests that is not there',
      table('`a/b.test.ts` › `runs once`, `a/b.test.ts` › `runs twice`'),
      ['"Once": a/b.test.ts runs no test called "runs twice"'],
    ],
  ])('%s is shown', (_, markdown, problems) => {
    expect(check(markdown)).toEqual(problems);
  });

  test('a file that is not there is shown', () => {
    expect(missingTests([{ row: 'Once', file: 'a.test.ts', title: 'x' }], () => undefined)).toEqual([
      '"Once": there is no a.test.ts',
    ]);
  });

  test('a test that is skipped, or only planned, holds nothing', () => {
    const source = `test('a', f); test.skip('b', f); test.todo('c'); it.skipIf(x)('d', f); test.each([1])('e', f); describe('g', f);`;
    expect(factsOf('a.test.ts', source).tests).toEqual(['a', 'e']);
  });
});
