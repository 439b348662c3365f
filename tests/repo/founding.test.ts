import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkFounding, type TestFile } from './founding.ts';
import { factsOf } from './source-facts.ts';
import { readSource, ROOT } from './source-tree.ts';

const PAGES = ['docs/reference/founding.md', 'docs/reference/newcomer.md'];

const readTest = (file: string): TestFile | undefined => {
  if (!existsSync(join(ROOT, file))) return undefined;
  const text = readSource(file);
  return { titles: factsOf(file, text).tests, text };
};

test.each(PAGES)('every requirement of %s has a test that exists, or a reason', (page) => {
  const { open, problems } = checkFounding(page, readSource(page), readTest);
  if (open.length > 0) process.stderr.write(`open rows of ${page}:\n${open.join('\n')}\n`);
  expect(problems).toEqual([]);
});

describe('the check of the founding requirements', () => {
  const test1 = '[a.test.ts](../../x/a.test.ts) “runs once”';
  const page = (...rows: readonly (readonly [id: string, test: string, verdict: string])[]): string => {
    const counted = (start: string) => rows.filter(([, , verdict]) => verdict.startsWith(start)).length;
    return [
      `**${String(rows.length)} rows**: ${String(counted('works'))} work, ${String(counted('differs'))} differ, ${String(counted('open'))} are open.`,
      '',
      '| # | asked for | where | test | verdict |',
      '|---|---|---|---|---|',
      ...rows.map(([id, cell, verdict]) => `| ${id} | Once | here | ${cell} | ${verdict} |`),
    ].join('\n');
  };
  const check = (markdown: string) =>
    checkFounding('docs/reference/p.md', markdown, (file) =>
      file === 'x/a.test.ts'
        ? { titles: ['runs once', '%s'], text: `test('runs once'); ['two prompts']` }
        : undefined,
    );

  test('good rows have no problems, and open rows are named', () => {
    const good = page(
      ['A1', `${test1}, “%s” for “two prompts”`, 'works'],
      ['A2', '', 'differs, because one list is enough'],
      ['A3', '', 'open: nobody wrote it'],
    );
    expect(check(good)).toEqual({ open: ['A3 open: nobody wrote it'], problems: [] });
  });

  test.each([
    ['a page without rows', '**0 rows**: 0 work, 0 differ, 0 are open.', 'there is no table of requirements'],
    [
      'an id that is there twice',
      page(['A1', test1, 'works'], ['A1', test1, 'works']),
      '"A1" is there twice',
    ],
    [
      'a row that works without a test',
      page(['A1', '`a.test.ts` “runs once”', 'works']),
      '"A1" works, but names no test',
    ],
    [
      'a difference without a reason',
      page(['A1', '', 'differs']),
      '"A1" has the verdict "differs": expected works, "differs, because …" or "open: …"',
    ],
    [
      'an unknown verdict',
      page(['A1', test1, 'partial']),
      '"A1" has the verdict "partial": expected works, "differs, because …" or "open: …"',
    ],
    [
      'a test file that is missing',
      page(['A1', '[b](../../x/b.test.ts) “runs once”', 'works']),
      '"A1": there is no x/b.test.ts',
    ],
    [
      'a title that is missing',
      page(['A1', '[a](../../x/a.test.ts) “runs twice”', 'works']),
      '"A1": x/a.test.ts runs no test called "runs twice"',
    ],
    [
      'a case that is missing',
      page(['A1', '[a](../../x/a.test.ts) “%s” for “no prompt”', 'works']),
      '"A1": x/a.test.ts has no case "no prompt"',
    ],
    [
      'a wrong count of open rows',
      page(['A1', '', 'open: later']).replace('1 are open', '0 are open'),
      'the head of the page must say: **1 rows**: 0 work, 0 differ, 1 are open.',
    ],
  ])('%s is shown', (_, markdown, problem) => {
    expect(check(markdown).problems).toContain(problem);
  });
});
