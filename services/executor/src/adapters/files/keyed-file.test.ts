import { appendFile, mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CleanFailure } from '../../ports/capability.ts';
import { scratchFolder } from '../../../testing/scratch.ts';
import { type AppendLine, createKeyedFile } from './keyed-file.ts';

// A writer keeps its file open; kept here, none of them is collected while the tests run.
const writers: AppendLine[] = [];
const openFile = (of: string): AppendLine => {
  const writer = createKeyedFile(of);
  writers.push(writer);
  return writer;
};

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let path: string;

beforeEach(async () => {
  scratch = await scratchFolder();
  path = join(scratch.path, 'sample.txt');
});
afterEach(() => scratch.remove());

const content = (): Promise<string> => readFile(path, 'utf8');
const add = (
  append: AppendLine,
  key: string,
  line = `line of ${key}`,
  assertInForce = (): void => undefined,
) => append({ key, line, assertInForce });
const keys = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `key-${String(i)}`);

describe('appending a line', () => {
  test('a line is stored behind its key', async () => {
    expect(await add(openFile(path), 'a', 'hello\tthere')).toEqual({ repeated: false });
    expect(await content()).toBe('a\thello\tthere\n');
  });

  test('a line is written once for each key, even with other text', async () => {
    const append = openFile(path);
    await add(append, 'a', 'first');
    expect(await add(append, 'a', 'second')).toEqual({ repeated: true });
    expect(await content()).toBe('a\tfirst\n');
  });

  test('a line is written once for each key under concurrent requests', async () => {
    const append = openFile(path);
    const results = await Promise.all(Array.from({ length: 50 }, () => add(append, 'a')));
    expect(results.filter(({ repeated }) => !repeated)).toHaveLength(1);
    expect(await content()).toBe('a\tline of a\n');
  });

  test('lines with different keys are stored in order of arrival', async () => {
    const append = openFile(path);
    await Promise.all(keys(200).map((key) => add(append, key)));
    expect(await content()).toBe(
      keys(200)
        .map((key) => `${key}\tline of ${key}\n`)
        .join(''),
    );
  });

  test('a reopened file knows its keys', async () => {
    await add(openFile(path), 'a');
    expect(await add(openFile(path), 'a')).toEqual({ repeated: true });
  });

  test('a key matches neither a prefix of another key nor the text behind it', async () => {
    const append = openFile(path);
    await add(append, 'abc', 'x\ty');
    for (const key of ['ab', 'bc', 'x', 'y', 'x\ty'])
      expect(await add(append, key), key).toEqual({ repeated: false });
  });
});

describe('two writers of one file', () => {
  test("two writers see each other's lines", async () => {
    const [one, two] = [openFile(path), openFile(path)];
    await add(one, 'a');
    expect(await add(two, 'a')).toEqual({ repeated: true });
    await add(two, 'b');
    expect(await add(one, 'b')).toEqual({ repeated: true });
  });

  test('two writers together write each key once', async () => {
    const writers = [openFile(path), openFile(path)];
    const results = await Promise.all(writers.flatMap((append) => keys(60).map((key) => add(append, key))));
    expect(results.filter(({ repeated }) => !repeated)).toHaveLength(60);
    expect((await content()).split('\n').toSorted()).toEqual(
      ['', ...keys(60).map((key) => `${key}\tline of ${key}`)].toSorted(),
    );
  });
});

describe('a truncated last line', () => {
  test('a truncated line is closed, and the next one starts on its own line', async () => {
    await writeFile(path, 'a\tline of a\nb\tli');
    await add(openFile(path), 'c');
    expect((await content()).split(/\r?\n/)).toEqual(['a\tline of a', 'b\tli', 'c\tline of c', '']);
  });

  test('the key of a truncated line is still free', async () => {
    await writeFile(path, 'a\tline of a\nb\tli');
    expect(await add(openFile(path), 'b')).toEqual({ repeated: false });
    expect((await content()).split('\n')).toContain('b\tline of b');
  });

  test('the key of a truncated line stays free after another line closed it', async () => {
    await writeFile(path, 'b\tli');
    const append = openFile(path);
    await add(append, 'c');
    expect(await add(append, 'b')).toEqual({ repeated: false });
    expect(await add(openFile(path), 'b')).toEqual({ repeated: true });
    expect((await content()).split('\n')).toContain('b\tline of b');
  });

  test('the key of a truncated line is free in a reopened file', async () => {
    await writeFile(path, 'b\tli');
    await add(openFile(path), 'c');
    expect(await add(openFile(path), 'b')).toEqual({ repeated: false });
  });

  test('a line truncated within its key blocks no other key', async () => {
    await writeFile(path, 'abc');
    const append = openFile(path);
    for (const key of ['ab', 'abc']) expect(await add(append, key), key).toEqual({ repeated: false });
    for (const key of ['ab', 'abc']) expect(await add(openFile(path), key), key).toEqual({ repeated: true });
  });

  test('a truncated line of another program stays', async () => {
    await writeFile(path, 'a shopping list');
    await add(openFile(path), 'a');
    expect((await content()).split(/\r?\n/)).toEqual(['a shopping list', 'a\tline of a', '']);
  });
});

describe('concurrent changes of the file', () => {
  test('a file that was moved away is created again', async () => {
    const append = openFile(path);
    await add(append, 'a');
    await rename(path, `${path}.1`);
    expect(await add(append, 'a')).toEqual({ repeated: false });
    expect(await content()).toBe('a\tline of a\n');
  });

  test('a truncated file forgets its keys', async () => {
    const append = openFile(path);
    await Promise.all(keys(10).map((key) => add(append, key)));
    await truncate(path);
    expect(await add(append, 'key-1')).toEqual({ repeated: false });
    expect(await add(append, 'key-1')).toEqual({ repeated: true });
    expect(await content()).toBe('key-1\tline of key-1\n');
  });

  test('lines of other writers are read as well', async () => {
    const append = openFile(path);
    await add(append, 'a');
    await appendFile(path, 'b\tby hand\n');
    expect(await add(append, 'b')).toEqual({ repeated: true });
  });

  test('a removed folder causes refusals only while it is missing', async () => {
    const folder = join(scratch.path, 'folder');
    await mkdir(folder);
    path = join(folder, 'sample.txt');
    const append = openFile(path);
    await add(append, 'a');
    await rm(folder, { recursive: true });
    await expect(add(append, 'b')).rejects.toMatchObject({
      name: 'CleanFailure',
      body: { code: 'EXECUTOR_TARGET_REFUSED' },
    });
    await mkdir(folder);
    expect(await add(append, 'b')).toEqual({ repeated: false });
  });
});

describe('a path without write access', () => {
  test.each([
    ['is a folder', '.'],
    ['is below a file', 'file.txt/sample.txt'],
    ['has no folder', 'nowhere/sample.txt'],
    ['is too long', 'x'.repeat(300)],
  ])('a path that %s is a clean failure: certainly nothing was written', async (_, name) => {
    await writeFile(join(scratch.path, 'file.txt'), '');
    await expect(add(openFile(join(scratch.path, name)), 'a')).rejects.toMatchObject({
      name: 'CleanFailure',
      body: { code: 'EXECUTOR_TARGET_REFUSED' },
    });
  });
});

describe('an expired lease', () => {
  const over = (): void => {
    throw new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'the lease was over before it began'));
  };

  test('a line with an expired lease is not written, and does not block others', async () => {
    const append = openFile(path);
    const results = await Promise.allSettled([
      add(append, 'a'),
      add(append, 'b', 'late', over),
      add(append, 'c'),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await content()).toBe('a\tline of a\nc\tline of c\n');
  });
});
