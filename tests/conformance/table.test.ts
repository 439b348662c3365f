import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const folder = import.meta.dirname;
const SCENARIOS = 107;

type Named = { readonly file: string; readonly titles: readonly string[] };
type Row = { readonly number: number; readonly where: string; readonly named: readonly Named[] };

/** A link to a file, and the titles after it. */
const namedIn = (where: string): readonly Named[] =>
  [...where.matchAll(/\[[^\]]+\]\(([^)]+)\)((?:,? “[^”]+”)*)/g)].map(([, file = '', titles = '']) => ({
    file,
    titles: [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']) => title),
  }));

const rowsOf = (text: string): readonly Row[] =>
  [...text.matchAll(/^\| (\d+) \|.*\| (.*) \|$/gm)].map(([, number = '', where = '']) => ({
    number: Number(number),
    where,
    named: namedIn(where),
  }));

const rows = rowsOf(readFileSync(join(folder, 'README.md'), 'utf8'));

const titlesIn = (text: string): readonly string[] =>
  [...text.matchAll(/(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1/g)].map(([, , title = '']) => title);

const isAbout = (number: number, title: string): boolean =>
  new RegExp(`^(reference )?${String(number)}[.:] `).test(title);

/** The claims of a row about a file that the file does not fulfil. */
const gapsOf = ({ number, named }: Row): readonly string[] =>
  named.flatMap(({ file, titles }) => {
    const path = join(folder, file);
    if (!existsSync(path)) return [`${String(number)}: there is no ${file}`];
    const known = titlesIn(readFileSync(path, 'utf8'));
    const missing = titles.filter((title) => !known.some((each) => each.includes(title)));
    const numbered = titles.length > 0 || known.some((title) => isAbout(number, title));
    return [
      ...missing.map((title) => `${String(number)}: ${file} has no test “${title}”`),
      ...(numbered ? [] : [`${String(number)}: no title in ${file} begins with that number`]),
    ];
  });

const numberedTests = (): readonly string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.e2e.test.ts'))
    .flatMap((file) => {
      const text = readFileSync(join(folder, file), 'utf8');
      const numbers = new Set(titlesIn(text).flatMap((title) => /^(\d+)\. /.exec(title)?.[1] ?? []));
      return [...numbers].map((number) => `${number} ${file}`);
    });

describe('the table of the scenarios', () => {
  test('each scenario has one row, in order', () => {
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: SCENARIOS }, (_, i) => i + 1));
  });

  test('each row names a test or a reason for having none', () => {
    const reasons = /^(not offered|does not apply( yet)?|decided otherwise): ./;
    const silent = rows.filter(({ named, where }) => named.length === 0 && !reasons.test(where));
    expect(silent).toEqual([]);
  });

  test.each(rows.map((row) => [row.number, row] as const))('scenario %i has its named tests', (_, row) => {
    expect(gapsOf(row)).toEqual([]);
  });

  test('each file with a test of a scenario is named in its row', () => {
    const named = new Set(
      rows.flatMap((row) => row.named.map(({ file }) => `${String(row.number)} ${file}`)),
    );
    expect(numberedTests().filter((each) => !named.has(each))).toEqual([]);
  });

  test('a row with a missing file or title is reported', () => {
    const text =
      '| 3 | x | [gone](gone.test.ts) |\n| 4 | y | [table.test.ts](table.test.ts) “nothing of the kind, ever” |\n';
    const wrong = rowsOf(text.replace('of the kind', ['of', 'that', 'kind'].join(' '))).flatMap(gapsOf);
    expect(wrong).toEqual([
      '3: there is no gone.test.ts',
      expect.stringContaining('4: table.test.ts has no test “nothing of that'),
    ]);
  });
});
