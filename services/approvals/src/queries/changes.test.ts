import { expect, test } from 'vitest';
import { effectOf } from '../../testing/requests.ts';
import { changesBetween } from './changes.ts';

const MAX = 10_000;
const asked = (line: string, body?: string) => ({ effect: effectOf(line), body });

test('equal effects with reordered arguments have no changes', () => {
  const { effect } = asked('hello');
  const turned = { ...effect, args: Object.fromEntries(Object.entries(effect.args).toReversed()) };
  expect(changesBetween({ effect, body: 'look' }, { effect: turned, body: 'look' }, MAX)).toBe('');
});

test('changes are unified diffs of effect and body', () => {
  const lines = changesBetween(asked('hello', 'one\ntwo\n'), asked('bye', 'one\nthree\n'), MAX).split('\n');
  expect(lines).toContain('-    "line": "hello"');
  expect(lines).toContain('+    "line": "bye"');
  expect(lines).toContain('-two');
  expect(lines).toContain('+three');
  expect(lines.filter((line) => line.startsWith('--- '))).toEqual(['--- effect before', '--- body before']);
});

test('a new body is a change', () => {
  expect(changesBetween(asked('hello'), asked('hello', 'look'), MAX)).toContain('+look');
});

test('a long line is cut with a note and hides no later change', () => {
  const long = 'x'.repeat(900_000);
  const changes = changesBetween(asked(`${long}a`), asked(`${long}b`), MAX);
  expect(changes.length).toBeLessThan(MAX);
  expect(changes).toMatch(/-.*more characters in this line/);
  expect(changes).toMatch(/\+.*more characters in this line/);
});

test('a long diff is cut at a line with a note', () => {
  const body = (word: string) => Array.from({ length: 200 }, (_, i) => `${word} ${String(i)}`).join('\n');
  const changes = changesBetween(asked('hello', body('old')), asked('hello', body('new')), 1_000);
  expect(changes.length).toBeLessThanOrEqual(1_000);
  expect(changes.split('\n').at(-1)).toBe('(cut: compare both in full)');
});

test('very different texts are not compared line by line', () => {
  const args = (word: string) => ({
    effect: {
      ...effectOf('x'),
      args: { lines: Array.from({ length: 30_000 }, (_, i) => `${word}${String(i)}`) },
    },
  });
  expect(changesBetween(args('a'), args('b'), MAX)).toContain('too different to be compared line by line');
});
