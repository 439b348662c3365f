import { spawn } from 'node:child_process';
import { chmod, link, lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { FileWrite } from '@holdpoint/contracts/effect/file-write';
import { type JsonObject, sha256Of } from '@holdpoint/contracts/values/json';
import { createWorkspace } from '../../adapters/files/workspace.ts';
import { contextFor } from '../../../testing/context.ts';
import { scratchFolder } from '../../../testing/scratch.ts';
import { CleanFailure, type EffectContext } from '../../ports/capability.ts';
import { fileWrite } from './file-write.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
let root: string;
beforeEach(async () => {
  scratch = await scratchFolder();
  root = join(scratch.path, 'workspace');
  await mkdir(root);
});
afterEach(() => scratch.remove());

const at = (file: string): string => join(root, file);
const textAt = (file: string): Promise<string> => readFile(at(file), 'utf8');
/** Without the locks, which stay. */
const namesIn = async (folder = root): Promise<readonly string[]> =>
  (await readdir(folder)).filter((name) => !name.endsWith('.lock')).toSorted();

type Args = Readonly<Record<string, unknown>>;
const capability = () => fileWrite(createWorkspace(root));
const write = async (args: Args, context: Partial<EffectContext> = {}): Promise<JsonObject> =>
  capability().run(
    FileWrite.parse({ file: 'a.txt', content: 'ours', ...args }),
    contextFor({ epoch: 1, ...context }),
  );
const probe = (args: Args = {}, context: Partial<EffectContext> = {}) =>
  capability().probe?.(
    FileWrite.parse({ file: 'a.txt', content: 'ours', ...args }),
    contextFor({ epoch: 2, ...context }),
  );
const preview = (args: Args = {}) =>
  Promise.resolve(
    capability().preview?.(FileWrite.parse({ file: 'a.txt', content: 'ours', ...args }), contextFor()),
  );
const compensate = async (outputs: JsonObject, context: Partial<EffectContext> = {}) =>
  capability().compensate?.(
    { effectId: 'e-1', input: FileWrite.parse({ file: 'a.txt', content: 'ours' }), outputs },
    contextFor(context),
  );

const expectClean = async (done: Promise<unknown>, code: string): Promise<string> => {
  const failure = await done.then(
    (outputs) => ({ outputs }),
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(CleanFailure);
  expect((failure as CleanFailure).body.code).toBe(code);
  return (failure as CleanFailure).body.message;
};

const OURS = sha256Of('ours');
const THEIRS = sha256Of('theirs');

describe('a file that is written', () => {
  test('is there whole, with its folder, and says what was there before', async () => {
    expect(await write({ file: 'b/c/a.txt' })).toEqual({
      file: 'b/c/a.txt',
      sha256: OURS,
      before: null,
      bytes: 4,
      written: true,
    });
    expect(await textAt('b/c/a.txt')).toBe('ours');
    expect(await namesIn(at('b/c'))).toEqual(['a.txt']);
  });

  test('takes the place of another', async () => {
    await writeFile(at('a.txt'), 'theirs');
    expect(await write({})).toMatchObject({ before: THEIRS, written: true });
    expect(await textAt('a.txt')).toBe('ours');
    expect(await namesIn()).toEqual(['a.txt']);
  });

  test('may hold any bytes', async () => {
    const bytes = Buffer.from([0, 0xff, 0x0a, 0xd8]);
    await write({ content: undefined, contentBase64: bytes.toString('base64') });
    expect(await readFile(at('a.txt'))).toEqual(bytes);
  });

  test('has the permissions that are asked for, those of the file before, or few', async () => {
    const modeOf = async (file: string): Promise<number> => (await stat(at(file))).mode & 0o777;
    await write({ file: 'new.txt' });
    await write({ file: 'asked.txt', mode: '0666' });
    await writeFile(at('kept.txt'), 'theirs');
    await chmod(at('kept.txt'), 0o751);
    await write({ file: 'kept.txt' });
    expect(await Promise.all(['new.txt', 'asked.txt', 'kept.txt'].map(modeOf))).toEqual([
      0o640, 0o666, 0o751,
    ]);
  });

  test('leaves other names of the file before as they are', async () => {
    await writeFile(at('a.txt'), 'theirs');
    await link(at('a.txt'), at('other.txt'));
    await write({});
    expect(await textAt('other.txt')).toBe('theirs');
  });
});

describe('what is expected', () => {
  test.each([
    ['nothing', 'absent', undefined],
    ['a file', THEIRS, 'theirs'],
  ])('may be %s, and then it is written', async (_, expected, there) => {
    if (there !== undefined) await writeFile(at('a.txt'), there);
    await write({ expect: expected });
    expect(await textAt('a.txt')).toBe('ours');
  });

  test.each([
    ['nothing, where a file is', 'absent', 'theirs'],
    ['a file, where another is', sha256Of('expected'), 'theirs'],
    ['a file, where none is', THEIRS, undefined],
  ])('is not %s: nothing is changed', async (_, expected, there) => {
    if (there !== undefined) await writeFile(at('a.txt'), there);
    await expectClean(write({ expect: expected }), 'EXECUTOR_TARGET_REFUSED');
    await expectClean(preview({ expect: expected }), 'EXECUTOR_TARGET_REFUSED');
    expect(await namesIn()).toEqual(there === undefined ? [] : ['a.txt']);
    expect(await textAt('a.txt').catch(() => undefined)).toBe(there);
  });

  test('is what was shown beforehand, where nothing else is said', async () => {
    await writeFile(at('a.txt'), 'theirs');
    const shown = await preview();
    await writeFile(at('a.txt'), 'changed since');
    await expectClean(write({ preview: shown }), 'EXECUTOR_TARGET_REFUSED');
    await writeFile(at('a.txt'), 'theirs');
    expect(await write({ preview: shown })).toMatchObject({ before: THEIRS, written: true });
    await rm(at('a.txt'));
    await expectClean(write({ preview: shown }), 'EXECUTOR_TARGET_REFUSED');
  });
});

describe('a write that is repeated', () => {
  test.each([
    ['absent', null],
    [THEIRS, THEIRS],
  ])('finds its work done, and says what was there before: %s', async (expected, before) => {
    if (before !== null) await writeFile(at('a.txt'), 'theirs');
    await write({ expect: expected });
    const { ino } = await lstat(at('a.txt'));
    expect(await write({ expect: expected }, { epoch: 3 })).toMatchObject({
      sha256: OURS,
      before,
      written: false,
    });
    expect((await lstat(at('a.txt'))).ino).toBe(ino);
  });

  test('leaves alone what somebody else has put there since', async () => {
    await write({ expect: 'absent' });
    await writeFile(at('a.txt'), 'theirs');
    await expectClean(write({ expect: 'absent' }, { epoch: 3 }), 'EXECUTOR_TARGET_REFUSED');
    expect(await textAt('a.txt')).toBe('theirs');
  });

  test('says of what it finds at its first start that it was there before', async () => {
    await writeFile(at('a.txt'), 'ours');
    expect(await write({ expect: 'absent' })).toMatchObject({ before: OURS, written: false });
  });

  test('clears away what a crash has left half written', async () => {
    await writeFile(at('.holdpoint-e-1'), 'ou');
    await write({}, { epoch: 3 });
    expect(await namesIn()).toEqual(['a.txt']);
    expect(await textAt('a.txt')).toBe('ours');
  });

  test('at the same time is written once', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => write({ expect: 'absent' })));
    expect(made.filter(({ written }) => written)).toHaveLength(1);
    expect(await namesIn()).toEqual(['a.txt']);
  });
});

describe('nothing happens', () => {
  test('when the lease is over right before the file is there, and nothing is left behind', async () => {
    await writeFile(at('a.txt'), 'theirs');
    const late = new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'the lease is over'));
    const assertInForce = (): void => {
      throw late;
    };
    await expect(write({}, { assertInForce })).rejects.toBe(late);
    expect(await namesIn()).toEqual(['a.txt']);
    expect(await textAt('a.txt')).toBe('theirs');
  });

  test('when it was cancelled before it began', async () => {
    await expectClean(write({}, { signal: AbortSignal.abort() }), 'EXECUTOR_CANCELLED');
    expect(await readdir(root)).toEqual([]);
  });

  test.each(['../a.txt', '/etc/passwd', 'b/../../a.txt', 'a\0b', '.', ''])(
    'outside of the workspace: %j',
    async (file) => {
      const input = { ...FileWrite.parse({ file: 'x', content: 'ours' }), file };
      await expectClean(capability().run(input, contextFor()), 'EXECUTOR_PATH_REFUSED');
    },
  );

  test.each(['/etc', '..', '../outside'])('through a folder that is a link out: %s', async (target) => {
    await mkdir(join(scratch.path, 'outside'));
    await symlink(target, at('out'));
    await expectClean(write({ file: 'out/a.txt' }), 'EXECUTOR_PATH_REFUSED');
    await expectClean(preview({ file: 'out/a.txt' }), 'EXECUTOR_PATH_REFUSED');
    expect(await readdir(join(scratch.path, 'outside'))).toEqual([]);
  });

  test.each(['real.txt', '/etc/hostname', 'nowhere'])('to a link, wherever it leads: %s', async (target) => {
    await writeFile(at('real.txt'), 'theirs');
    await symlink(target, at('a.txt'));
    await expectClean(write({}), 'EXECUTOR_TARGET_REFUSED');
    await expectClean(preview({}), 'EXECUTOR_TARGET_REFUSED');
    expect((await lstat(at('a.txt'))).isSymbolicLink()).toBe(true);
    expect(await textAt('real.txt')).toBe('theirs');
  });

  test('where a folder is, or something that is read without end', async () => {
    await mkdir(at('folder'));
    await expectClean(write({ file: 'folder' }), 'EXECUTOR_TARGET_REFUSED');
    const made = spawn('mkfifo', [at('pipe')]);
    await new Promise((resolve) => made.once('close', resolve));
    await expectClean(write({ file: 'pipe' }), 'EXECUTOR_TARGET_REFUSED');
  });

  test('where a file stands in the way of a folder', async () => {
    await writeFile(at('a.txt'), 'theirs');
    await expectClean(write({ file: 'a.txt/b.txt' }), 'EXECUTOR_TARGET_REFUSED');
    expect(await textAt('a.txt')).toBe('theirs');
  });

  test('through a link that was put where it is written meanwhile', async () => {
    await writeFile(join(scratch.path, 'outside.txt'), 'theirs');
    await symlink(join(scratch.path, 'outside.txt'), at('.holdpoint-e-1'));
    await write({});
    expect(await readFile(join(scratch.path, 'outside.txt'), 'utf8')).toBe('theirs');
    expect(await namesIn()).toEqual(['a.txt']);
  });
});

describe('asked what became of it, a file', () => {
  test('that holds what was to be written was written', async () => {
    await write({ expect: 'absent' });
    expect(await probe({ expect: 'absent' })).toEqual({
      found: 'applied',
      reason: 'the file has the new content',
      outputs: { file: 'a.txt', sha256: OURS, before: null, bytes: 4, written: false },
    });
  });

  test('that is as it was expected was not', async () => {
    expect(await probe({ expect: 'absent' })).toMatchObject({ found: 'not_applied' });
    await writeFile(at('a.txt'), 'theirs');
    expect(await probe({ expect: THEIRS })).toMatchObject({ found: 'not_applied' });
  });

  test('that is anything else says nothing', async () => {
    expect(await probe()).toMatchObject({ found: 'unknown' });
    await writeFile(at('a.txt'), 'theirs');
    expect(await probe({ expect: 'absent' })).toMatchObject({ found: 'unknown' });
  });

  test('has no folder made for it, and no lock', async () => {
    expect(await probe({ file: 'b/a.txt', expect: 'absent' })).toMatchObject({ found: 'not_applied' });
    await preview({ file: 'b/a.txt' });
    expect(await readdir(root)).toEqual([]);
  });
});

describe('taken back', () => {
  test('a file that was not there before is not there any more, however often', async () => {
    const outputs = await write({ expect: 'absent' });
    expect(await compensate(outputs)).toEqual({ file: 'a.txt', removed: true });
    expect(await compensate(outputs)).toEqual({ file: 'a.txt', removed: false });
    expect(await namesIn()).toEqual([]);
  });

  test('a file that was changed since is left as it is', async () => {
    const outputs = await write({});
    await writeFile(at('a.txt'), 'theirs');
    await expectClean(compensate(outputs), 'EXECUTOR_TARGET_REFUSED');
    expect(await textAt('a.txt')).toBe('theirs');
  });

  test.each([[{ before: THEIRS }], [{}], [{ before: 7 }]])(
    'is not what took the place of another: %j',
    async (change) => {
      await writeFile(at('a.txt'), 'ours');
      const { before: _, ...outputs } = {
        file: 'a.txt',
        sha256: OURS,
        before: null,
        bytes: 4,
        written: true,
      };
      const message = await expectClean(compensate({ ...outputs, ...change }), 'EXECUTOR_TARGET_REFUSED');
      expect(message).toContain('not kept');
      expect(await textAt('a.txt')).toBe('ours');
    },
  );

  test('is nothing once the lease is over', async () => {
    const outputs = await write({});
    const assertInForce = (): void => {
      throw new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'the lease is over'));
    };
    await expectClean(compensate(outputs, { assertInForce }), 'EXECUTOR_TARGET_UNAVAILABLE');
    expect(await textAt('a.txt')).toBe('ours');
  });
});

describe('shown beforehand', () => {
  test('is what changes, line by line', async () => {
    await writeFile(at('a.txt'), 'one\ntwo\nthree\n');
    expect(await preview({ content: 'one\n2\nthree\n' })).toEqual({
      file: 'a.txt',
      before: { sha256: sha256Of('one\ntwo\nthree\n'), bytes: 14 },
      after: { sha256: sha256Of('one\n2\nthree\n'), bytes: 12 },
      already: false,
      diff: expect.stringMatching(
        /--- a\.txt\n\+\+\+ a\.txt\n@@ -1,3 \+1,3 @@\n one\n-two\n\+2\n three\n/,
      ) as string,
    });
  });

  test('is a whole file where none is', async () => {
    expect(await preview({ expect: 'absent' })).toMatchObject({
      before: null,
      diff: expect.stringContaining('+ours') as string,
    });
  });

  test('is that nothing is left to do', async () => {
    await writeFile(at('a.txt'), 'ours');
    expect(await preview({ expect: 'absent' })).toMatchObject({ already: true });
  });

  test.each([
    ['bytes', { content: undefined, contentBase64: 'AP8=' }],
    ['more than anybody reads', { content: 'x\n'.repeat(40_000) }],
  ])('are sizes and digests of %s', async (_, args) => {
    const shown = await preview(args);
    expect(shown).not.toHaveProperty('diff');
    expect(shown).toMatchObject({ before: null, already: false });
  });
});
