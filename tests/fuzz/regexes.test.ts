import { describe, expect, test } from 'vitest';
import { parseSync, Visitor } from 'oxc-parser';
import { filesEnding, readSource } from '../repo/source-tree.ts';

/** Code that matches untrusted text. */
const FOLDERS = [
  'packages/contracts/src',
  'packages/runtime/src',
  'packages/cli/src',
  'packages/workflows/src',
  'services',
];

type Found = { readonly where: string; readonly source: string; readonly flags: string };

const regexesIn = (file: string): readonly Found[] => {
  const found: Found[] = [];
  const { program } = parseSync(file, readSource(file));
  new Visitor({
    Literal: (node) => {
      if (!('regex' in node)) return;
      const { pattern: source, flags } = node.regex;
      found.push({ where: file, source, flags });
    },
  }).visit(program);
  return found;
};

const found = filesEnding('.ts', FOLDERS)
  .filter((file) => !file.endsWith('.test.ts'))
  .flatMap(regexesIn);

const LENGTH = 30_000;
/** A linear match of this length takes about a millisecond, backtracking takes seconds. */
const SLOW_MS = 200;

/** Texts that almost match: repeated pieces of the expression with an end that does not fit. */
const attacksOn = (source: string): readonly string[] => {
  const letters = [...new Set(`${source.replaceAll(/\\[a-zA-Z]/g, '')}aA0_ -.\n\t\r/:=`)];
  const words = source.match(/[A-Za-z0-9 :/=.-]{2,}/g) ?? [];
  const pairs = letters.slice(0, 8).flatMap((a) => letters.slice(0, 8).map((b) => a + b));
  return [...letters, ...words, ...pairs].flatMap((unit) => {
    const long = unit.repeat(Math.ceil(LENGTH / unit.length));
    return [`${long}\u0000`, `${words[0] ?? ''}${long}\u0000`];
  });
};

/** The first text with a slow match. A busy machine is not slow three times. */
const slowWith = (regex: RegExp, attacks: readonly string[]): string | undefined => {
  const takes = (attack: string): number => {
    const start = performance.now();
    attack.replace(regex, '');
    return performance.now() - start;
  };
  const slow = attacks.find((attack) => [1, 2, 3].every(() => takes(attack) > SLOW_MS));
  return slow === undefined ? undefined : `${slow.slice(0, 20)}…`;
};

describe('a regular expression', () => {
  test('the search finds every regular expression', () => {
    expect(found.length).toBeGreaterThan(20);
    expect(found.map(({ source }) => source)).toContain('^[A-Za-z0-9_-]{1,64}$');
  });

  test.each(['(?:a+)b', '\\s+$'])(
    'the search finds an expression with backtracking: %s',
    (source) => {
      expect(slowWith(new RegExp(source), attacksOn(source))).toMatch(/…$/);
    },
    60_000,
  );

  test.each(found)(
    '$source of $where matches in linear time',
    ({ source, flags }) => {
      expect(slowWith(new RegExp(source, flags), attacksOn(source))).toBeUndefined();
    },
    60_000,
  );
});
