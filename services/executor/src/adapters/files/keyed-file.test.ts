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

describe('a line', () => {
  test('stands in the file behind its key', async () => {
    expect(await add(openFile(path), 'a', 'hello\tthere')).toEqual({ repeated: false });
    expect(await content()).toBe('a\thello\tthere\n');
  });

  test('is written once for each key, whatever it says the second time', async () => {
    const append = openFile(path);
    await add(append, 'a', 'first');
    expect(await add(append, 'a', 'second')).toEqual({ repeated: true });
    expect(await content()).toBe('a\tfirst\n');
  });

  test('is written once for each key, however many ask for it at once', async () => {
    const append = openFile(path);
    const results = await Promise.all(Array.from({ length: 50 }, () => add(append, 'a')));
    expect(results.filter(({ repeated }) => !repeated)).toHaveLength(1);
    expect(await content()).toBe('a\tline of a\n');
  });

  test('of another key is another line, in the order in which they came', async () => {
    const append = openFile(path);
    await Promise.all(keys(200).map((key) => add(append, key)));
    expect(await content()).toBe(
      keys(200)
        .map((key) => `${key}\tline of ${key}\n`)
        .join(''),
    );
  });

  test('is known to whoever opens the file later', async () => {
    await add(openFile(path), 'a');
    expect(await add(openFile(path), 'a')).toEqual({ repeated: true });
  });

  test('is not known by the start of its key, nor by what stands behind it', async () => {
    const append = openFile(path);
    await add(append, 'abc', 'x\ty');
    for (const key of ['ab', 'bc', 'x', 'y', 'x\ty'])
      expect(await add(append, key), key).toEqual({ repeated: false });
  });
});

describe('two writers of one file', () => {
  test('see what the other has written', async () => {
    const [one, two] = [openFile(path), openFile(path)];
    await add(one, 'a');
    expect(await add(two, 'a')).toEqual({ repeated: true });
    await add(two, 'b');
    expect(await add(one, 'b')).toEqual({ repeated: true });
  });

  test('write each key once between them', async () => {
    const writers = [openFile(path), openFile(path)];
    const results = await Promise.all(writers.flatMap((append) => keys(60).map((key) => add(append, key))));
    expect(results.filter(({ repeated }) => !repeated)).toHaveLength(60);
    expect((await content()).split('\n').toSorted()).toEqual(
      ['', ...keys(60).map((key) => `${key}\tline of ${key}`)].toSorted(),
    );
  });
});

describe('a last line that a crash cut off', () => {
  test('is closed, and the next one stands on a line of its own', async () => {
    await writeFile(path, 'a\tline of a\nb\tli');
    await add(openFile(path), 'c');
    expect((await content()).split(/\r?\n/)).toEqual(['a\tline of a', 'b\tli', 'c\tline of c', '']);
  });

  test('has not been applied: its key is still free', async () => {
    await writeFile(path, 'a\tline of a\nb\tli');
    expect(await add(openFile(path), 'b')).toEqual({ repeated: false });
    expect((await content()).split('\n')).toContain('b\tline of b');
  });

  test('has not been applied either after another line closed it', async () => {
    await writeFile(path, 'b\tli');
    const append = openFile(path);
    await add(append, 'c');
    expect(await add(append, 'b')).toEqual({ repeated: false });
    expect(await add(openFile(path), 'b')).toEqual({ repeated: true });
    expect((await content()).split('\n')).toContain('b\tline of b');
  });

  test('has not been applied for whoever opens the file later', async () => {
    await writeFile(path, 'b\tli');
    await add(openFile(path), 'c');
    expect(await add(openFile(path), 'b')).toEqual({ repeated: false });
  });

  test('that ends within its key takes no other key', async () => {
    await writeFile(path, 'abc');
    const append = openFile(path);
    for (const key of ['ab', 'abc']) expect(await add(append, key), key).toEqual({ repeated: false });
    for (const key of ['ab', 'abc']) expect(await add(openFile(path), key), key).toEqual({ repeated: true });
  });

  test('may be the text of somebody else, which stays', async () => {
    await writeFile(path, 'a shopping list');
    await add(openFile(path), 'a');
    expect((await content()).split(/\r?\n/)).toEqual(['a shopping list', 'a\tline of a', '']);
  });
});

describe('a file that somebody changes meanwhile', () => {
  test('by moving it away is begun anew', async () => {
    const append = openFile(path);
    await add(append, 'a');
    await rename(path, `${path}.1`);
    expect(await add(append, 'a')).toEqual({ repeated: false });
    expect(await content()).toBe('a\tline of a\n');
  });

  test('by emptying it has forgotten its keys', async () => {
    const append = openFile(path);
    await Promise.all(keys(10).map((key) => add(append, key)));
    await truncate(path);
    expect(await add(append, 'key-1')).toEqual({ repeated: false });
    expect(await add(append, 'key-1')).toEqual({ repeated: true });
    expect(await content()).toBe('key-1\tline of key-1\n');
  });

  test('by adding to it is read as it stands', async () => {
    const append = openFile(path);
    await add(append, 'a');
    await appendFile(path, 'b\tby hand\n');
    expect(await add(append, 'b')).toEqual({ repeated: true });
  });

  test('by removing its folder is refused as long as that is so, and no longer', async () => {
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

describe('a path that cannot be written to', () => {
  test.each([
    ['is a folder', '.'],
    ['is below a file', 'file.txt/sample.txt'],
    ['is in no folder', 'nowhere/sample.txt'],
    ['is too long', 'x'.repeat(300)],
  ])('because it %s is a clean failure: certainly nothing was written', async (_, name) => {
    await writeFile(join(scratch.path, 'file.txt'), '');
    await expect(add(openFile(join(scratch.path, name)), 'a')).rejects.toMatchObject({
      name: 'CleanFailure',
      body: { code: 'EXECUTOR_TARGET_REFUSED' },
    });
  });
});

describe('whoever may no longer write', () => {
  const over = (): void => {
    throw new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'the lease was over before it began'));
  };

  test('does not, and the others are not held up', async () => {
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
