import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { followed } from './real-path.ts';

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'real-path-')));
});
afterEach(() => rm(folder, { recursive: true }));

test('missing parts of a path stay below the resolved existing folder', async () => {
  await mkdir(join(folder, 'real'));
  await symlink('real', join(folder, 'link'));
  expect(await followed(join(folder, 'link', 'a', 'b'))).toBe(join(folder, 'real', 'a', 'b'));
});

test('a dangling link, and every path below it, does not resolve', async () => {
  await symlink('gone', join(folder, 'link'));
  expect(await followed(join(folder, 'link'))).toBeUndefined();
  expect(await followed(join(folder, 'link', 'a'))).toBeUndefined();
});

const FLICKER = `
  const { workerData } = require('node:worker_threads');
  const { mkdirSync, rmdirSync } = require('node:fs');
  for (;;) { mkdirSync(workerData); rmdirSync(workerData); }`;

test('a folder created during the lookup is not taken for a dangling link', async () => {
  const path = join(folder, 'flickers');
  const other = new Worker(FLICKER, { eval: true, workerData: path });
  try {
    await once(other, 'online');
    for (let look = 0; look < 3_000; look += 1) expect(await followed(path)).toBe(path);
  } finally {
    await other.terminate();
  }
});
