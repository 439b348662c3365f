import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';

const run = promisify(execFile);
const BIN = join(import.meta.dirname, '../bin');
const env = { PATH: process.env['PATH'], HOME: '/nonexistent' };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-bin-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each(['holdpoint', 'holdpoint.mjs'])('%s works through a link on the PATH', async (name) => {
  const link = join(folder, 'hp');
  symlinkSync(join(BIN, name), link);
  const { stdout } = await run(process.execPath, [link, 'jobs', '--help'], { env, cwd: folder });
  expect(stdout).toContain('Usage: holdpoint jobs');
});

test('the exit code is that of the command', async () => {
  await expect(run(process.execPath, [join(BIN, 'holdpoint'), 'nonsense'], { env })).rejects.toMatchObject({
    code: 2,
    stdout: '',
  });
});
