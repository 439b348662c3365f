import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claimDataDir, findRunning, runningFile } from './running.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-running-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const claim = async () => {
  const result = await claimDataDir(dir);
  if ('running' in result) throw new Error('the folder is taken');
  return result.claim;
};

test('one process owns a data folder, and its record is found', async () => {
  const mine = await claim();
  await mine.publish({ natsUrl: 'nats://127.0.0.1:1' });
  expect(await findRunning(dir)).toMatchObject({ pid: process.pid, natsUrl: 'nats://127.0.0.1:1' });
  expect(await claimDataDir(dir)).toMatchObject({ running: { pid: process.pid } });
  await mine.release();
  expect(await findRunning(dir)).toBeUndefined();
  await (await claim()).release();
});

test('one of many processes that claim a folder at once gets it', async () => {
  const results = await Promise.all(Array.from({ length: 8 }, () => claimDataDir(dir)));
  expect(results.filter((result) => 'claim' in result).length).toBe(1);
});

test('a folder that cannot be there is refused in one line, with the remedy', async () => {
  await writeFile(join(dir, 'file'), '');
  const inTheWay = /^a file is in the place of .*: remove it, or set HOLDPOINT_DATA$/;
  await expect(claimDataDir(join(dir, 'file'))).rejects.toThrow(inTheWay);
  await expect(claimDataDir(join(dir, 'file', 'data'))).rejects.toThrow(inTheWay);
  await expect(claimDataDir(join(dir, 'x'.repeat(1_000)))).rejects.toThrow(
    /^cannot write to .* \(ENAMETOOLONG\): start in a folder of your own, or set HOLDPOINT_DATA$/,
  );
});

test.skipIf(process.platform !== 'linux')(
  'a folder in a system that takes none is refused, not awaited',
  async () => {
    await expect(claimDataDir('/proc/holdpoint/data')).rejects.toThrow(
      /^cannot write to \/proc\/holdpoint\/data \(ENOENT\): start in a folder of your own, or set HOLDPOINT_DATA$/,
    );
  },
);

test('missing folders are made', async () => {
  expect(await claimDataDir(join(dir, 'one', 'two', 'data'))).toHaveProperty('claim');
});

test('the record of a killed process is ignored, even if its process id is reused', async () => {
  const gone = spawn('true');
  await once(gone, 'exit');
  for (const [pid, command] of [
    [gone.pid, 'true'],
    [process.pid, 'another command'],
    [1, 'node start.ts'],
  ] as const) {
    await writeFile(runningFile(dir), JSON.stringify({ pid, command, startedAt: 'then' }));
    expect(await findRunning(dir)).toBeUndefined();
  }
  await writeFile(runningFile(dir), '{"pid":');
  await (await claim()).release();
});
