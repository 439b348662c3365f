import { expect, test } from 'vitest';
import { effectOf } from '../../testing/requests.ts';
import { changesBetween } from './changes.ts';

const MAX = 10_000;
const asked = (line: string, body?: string) => ({ effect: effectOf(line), body });

test('what is the same has no changes, whatever order its arguments stand in', () => {
  const { effect } = asked('hello');
  const turned = { ...effect, args: Object.fromEntries(Object.entries(effect.args).toReversed()) };
  expect(changesBetween({ effect, body: 'look' }, { effect: turned, body: 'look' }, MAX)).toBe('');
});

test('the lines of the effect and of the body that differ are shown as a unified diff', () => {
  const lines = changesBetween(asked('hello', 'one\ntwo\n'), asked('bye', 'one\nthree\n'), MAX).split('\n');
  expect(lines).toContain('-    "line": "hello"');
  expect(lines).toContain('+    "line": "bye"');
  expect(lines).toContain('-two');
  expect(lines).toContain('+three');
  expect(lines.filter((line) => line.startsWith('--- '))).toEqual(['--- effect before', '--- body before']);
});

test('a body that is new is told as well', () => {
  expect(changesBetween(asked('hello'), asked('hello', 'look'), MAX)).toContain('+look');
});

test('a difference behind a long line is not hidden by it, and what is left out is said', () => {
  const long = 'x'.repeat(900_000);
  const changes = changesBetween(asked(`${long}a`), asked(`${long}b`), MAX);
  expect(changes.length).toBeLessThan(MAX);
  expect(changes).toMatch(/-.*more characters in this line/);
  expect(changes).toMatch(/\+.*more characters in this line/);
});

test('more than there is room for is cut at a line, and that is said', () => {
  const body = (word: string) => Array.from({ length: 200 }, (_, i) => `${word} ${String(i)}`).join('\n');
  const changes = changesBetween(asked('hello', body('old')), asked('hello', body('new')), 1_000);
  expect(changes.length).toBeLessThanOrEqual(1_000);
  expect(changes.split('\n').at(-1)).toBe('(cut: compare both in full)');
});

test('texts that have nothing in common are not compared line by line', () => {
  const args = (word: string) => ({
    effect: {
      ...effectOf('x'),
      args: { lines: Array.from({ length: 30_000 }, (_, i) => `${word}${String(i)}`) },
    },
  });
  expect(changesBetween(args('a'), args('b'), MAX)).toContain('too different to be compared line by line');
});
