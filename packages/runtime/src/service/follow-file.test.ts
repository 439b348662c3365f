import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Logged, recordedLog } from '../../testing/recorded-log.ts';
import { followFile, type FollowedFile } from './follow-file.ts';

let folder: string;
let path: string;
let logged: readonly Logged[];
let followed: FollowedFile<number>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'follow-'));
  path = join(folder, 'number');
  const recorded = recordedLog();
  logged = recorded.lines;
  const parse = (text: string): number => {
    if (!/^\d+$/.test(text)) throw new Error('not a number');
    return Number(text);
  };
  await writeFile(path, '1');
  followed = followFile({ name: 'A_NUMBER', path, parse }, 1, recorded.log);
});
afterEach(async () => {
  await followed.stop();
  await rm(folder, { recursive: true });
});

test('a file is read again when it is rewritten or replaced', async () => {
  await writeFile(path, '22');
  await followed.look();
  expect(followed.current()).toBe(22);
  await writeFile(join(folder, 'other'), '33');
  await rename(join(folder, 'other'), path);
  await followed.look();
  expect(followed.current()).toBe(33);
  expect(logged).toEqual([]);
});

test('a change before the first check is noticed', async () => {
  await writeFile(path, '7');
  await followed.look();
  expect(followed.current()).toBe(7);
});

test('a broken or missing file is logged once, and its last good content stays in use', async () => {
  await writeFile(path, 'secret');
  for (let i = 0; i < 3; i += 1) await followed.look();
  expect(followed.current()).toBe(1);
  expect(logged).toHaveLength(1);
  await rm(path);
  for (let i = 0; i < 3; i += 1) await followed.look();
  expect(followed.current()).toBe(1);
  expect(logged).toHaveLength(2);
  expect(logged.map(({ fields }) => fields['file'])).toEqual(['A_NUMBER', 'A_NUMBER']);
  expect(logged.map(({ fields }) => fields['reason'])).toEqual([
    'not a number',
    expect.stringContaining('ENOENT'),
  ]);
  await writeFile(path, '44');
  await followed.look();
  expect(followed.current()).toBe(44);
});
