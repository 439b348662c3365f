import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { scratchFolder } from '../../../testing/scratch.ts';
import { createWorkspace } from './workspace.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let root: string;
let outside: string;

beforeEach(async () => {
  scratch = await scratchFolder();
  root = join(scratch.path, 'workspace');
  outside = join(scratch.path, 'outside');
  await mkdir(root);
  await mkdir(outside);
});
afterEach(() => scratch.remove());

const resolve = (path: string): Promise<string> => createWorkspace(root).resolve(path);
const REFUSED = { name: 'CleanFailure', body: { code: 'EXECUTOR_PATH_REFUSED' } };

describe('a path inside the workspace', () => {
  test.each([
    ['sample.txt', 'sample.txt'],
    ['a/b/c.txt', 'a/b/c.txt'],
    ['./a/../b.txt', 'b.txt'],
    ['a/', 'a'],
    ['..a', '..a'],
    ['...', '...'],
    ['a b\t😀.txt', 'a b\t😀.txt'],
  ])('the path %j resolves to %j', async (path, expected) => {
    expect(await resolve(path)).toBe(join(root, expected));
  });

  test('an absolute path inside the workspace is allowed', async () => {
    expect(await resolve(join(root, 'sample.txt'))).toBe(join(root, 'sample.txt'));
  });

  test('a missing folder is created', async () => {
    await resolve('a/b/c.txt');
    expect(await readdir(join(root, 'a'))).toEqual(['b']);
    expect(await readdir(join(root, 'a/b'))).toEqual([]);
  });

  test('concurrent requests create a missing folder once', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => resolve(`a/b/${String(i)}.txt`)));
    expect(new Set(all).size).toBe(20);
  });

  test('a link resolves to its target, so that one file has one name', async () => {
    await mkdir(join(root, 'real'));
    await writeFile(join(root, 'real/file.txt'), '');
    await symlink(join(root, 'real'), join(root, 'folder'));
    await symlink('real/file.txt', join(root, 'link.txt'));
    expect(await resolve('folder/file.txt')).toBe(join(root, 'real/file.txt'));
    expect(await resolve('folder/new.txt')).toBe(join(root, 'real/new.txt'));
    expect(await resolve('link.txt')).toBe(join(root, 'real/file.txt'));
  });

  test('the workspace itself may be a link', async () => {
    await symlink(root, join(scratch.path, 'alias'));
    expect(await createWorkspace(join(scratch.path, 'alias')).resolve('a.txt')).toBe(join(root, 'a.txt'));
  });
});

describe('a path that leads out is refused without a change', () => {
  const untouched = async (): Promise<void> => {
    expect(await readdir(outside)).toEqual([]);
    expect((await readdir(scratch.path)).toSorted()).toEqual(['outside', 'workspace']);
  };

  test.each([
    '',
    '.',
    '..',
    '..',
    '../..',
    '../outside/x',
    'a/../../outside/x',
    '../workspace',
    '/etc/passwd',
    '/',
    'a\0b',
    '\0',
    '../workspace-2/x',
  ])('the path %j is refused', async (path) => {
    await expect(resolve(path)).rejects.toMatchObject(REFUSED);
    await untouched();
  });

  test('the absolute path of an outside folder is refused', async () => {
    await expect(resolve(join(outside, 'x'))).rejects.toMatchObject(REFUSED);
    await untouched();
  });

  test('a path through a link to an outside folder is refused', async () => {
    await symlink(outside, join(root, 'link'));
    await expect(resolve('link/x')).rejects.toMatchObject(REFUSED);
    await expect(resolve('link/../link/x')).rejects.toMatchObject(REFUSED);
    await untouched();
  });

  test('a path that needs a new folder behind an outside link is refused', async () => {
    await symlink(outside, join(root, 'link'));
    await expect(resolve('link/new/folder/x')).rejects.toMatchObject(REFUSED);
    await untouched();
  });

  test('a link to an outside file is refused', async () => {
    await writeFile(join(scratch.path, 'secret'), 'secret');
    await symlink(join(scratch.path, 'secret'), join(root, 'link.txt'));
    await expect(resolve('link.txt')).rejects.toMatchObject(REFUSED);
  });

  test('a link to a missing outside file is refused', async () => {
    await symlink(join(outside, 'new.txt'), join(root, 'link.txt'));
    await expect(resolve('link.txt')).rejects.toMatchObject(REFUSED);
    await untouched();
  });

  test('a link to a missing outside folder is refused', async () => {
    await symlink(join(outside, 'new'), join(root, 'link'));
    await expect(resolve('link/x')).rejects.toMatchObject({ name: 'CleanFailure' });
    await untouched();
  });

  test('a link to itself is refused', async () => {
    await symlink('loop', join(root, 'loop'));
    await expect(resolve('loop')).rejects.toMatchObject(REFUSED);
    await expect(resolve('loop/x')).rejects.toMatchObject({ name: 'CleanFailure' });
  });
});

test('a folder that cannot be created is a clean failure', async () => {
  await writeFile(join(root, 'file.txt'), '');
  await expect(resolve('file.txt/folder/x')).rejects.toMatchObject({
    body: { code: 'EXECUTOR_TARGET_REFUSED' },
  });
});
