import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { scratchFolder } from '../../../testing/scratch.ts';
import { createLogFile } from './log-file.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
beforeEach(async () => {
  scratch = await scratchFolder();
});
afterEach(() => scratch.remove());

const NOW = Date.UTC(2026, 0, 1);
const open = (maxBytes = 1_048_576) => {
  const path = join(scratch.path, 'log');
  return { path, file: createLogFile({ path, maxBytes, now: () => NOW }) };
};

describe('a log file', () => {
  test('a log has the time, the stream and the text of every line, and its digest', async () => {
    const { path, file } = open();
    file.print('stdout', () => 'one');
    file.print('stderr', () => 'zwei ü');
    const written = await file.end();
    const content = await readFile(path);
    expect(content.toString('utf8')).toBe(
      '2026-01-01T00:00:00.000Z out | one\n2026-01-01T00:00:00.000Z err | zwei ü\n',
    );
    expect(written).toEqual({
      sha256: createHash('sha256').update(content).digest('hex'),
      bytes: content.length,
    });
  });

  test('a line is on the disk one turn later, even while the log is open', async () => {
    const { path, file } = open();
    file.print('stdout', () => 'one');
    await new Promise((resolve) => setImmediate(resolve));
    expect(await readFile(path, 'utf8')).toContain('one');
    await file.end();
  });

  test('a log that is too large keeps its start and counts the omitted lines', async () => {
    const { path, file } = open(1_048_576);
    let asked = 0;
    const line = () => ((asked += 1), 'x'.repeat(1_000));
    for (let i = 0; i < 2_000; i += 1) file.print('stdout', line);
    const { bytes } = await file.end();
    const content = await readFile(path, 'utf8');
    const lines = content.trimEnd().split('\n');
    expect(bytes).toBe(content.length);
    expect(asked).toBe(lines.length);
    expect(lines.at(-1)).toBe(
      `2026-01-01T00:00:00.000Z hp  | [holdpoint] ${String(2_000 - lines.length + 1)} lines omitted here: logs are kept up to 1 MiB`,
    );
  });

  test('a line after the end of a log is ignored', async () => {
    const { path, file } = open();
    file.print('stdout', () => 'one');
    await file.end();
    file.print('stdout', () => 'late');
    expect(await readFile(path, 'utf8')).not.toContain('late');
  });
});
