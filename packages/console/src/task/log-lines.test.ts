import { expect, test } from 'vitest';
import { createLog, searched, type TaskLine } from './log-lines.ts';

const line = (seq: number, text = `line ${String(seq)}`): TaskLine => ({
  node: 'build',
  attempt: 1,
  step: 'run',
  stream: 'stdout',
  seq,
  line: text,
  at: seq,
});

test('a line that a reconnect repeats is shown once', () => {
  const log = createLog();
  expect([1, 2, 1, 2, 3].map((seq) => log.take(line(seq)))).toEqual([true, true, false, false, true]);
  expect(log.take({ ...line(1), stream: 'stderr' })).toBe(true);
  expect(log.all().lines).toHaveLength(4);
});

test('only the latest lines are kept, with the number of dropped ones', () => {
  const log = createLog(10);
  for (let seq = 1; seq <= 100; seq += 1) log.take(line(seq));
  const { lines, dropped } = log.all();
  expect(lines.at(-1)?.seq).toBe(100);
  expect(lines.length).toBeLessThanOrEqual(12);
  expect(lines.length + dropped).toBe(100);
});

test('a search finds lines with all words', () => {
  const lines = [line(1, 'Error: no such file'), line(2, 'fine')];
  expect(searched(lines, 'ERROR file')).toEqual([lines[0]]);
  expect(searched(lines, 'build')).toEqual(lines);
  expect(searched(lines, ' ')).toBe(lines);
});
