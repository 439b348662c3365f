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

describe('writing a file', () => {
  test('a file is written whole with its folder, and the outputs name the earlier content', async () => {
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

  test('a file replaces another one', async () => {
    await writeFile(at('a.txt'), 'theirs');
    expect(await write({})).toMatchObject({ before: THEIRS, written: true });
    expect(await textAt('a.txt')).toBe('ours');
    expect(await namesIn()).toEqual(['a.txt']);
  });

  test('a file may have any bytes', async () => {
    const bytes = Buffer.from([0, 0xff, 0x0a, 0xd8]);
    await write({ content: undefined, contentBase64: bytes.toString('base64') });
    expect(await readFile(at('a.txt'))).toEqual(bytes);
  });

  test('a file has the given permissions, those of the replaced file, or few', async () => {
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

  test('other hard links of the replaced file keep the old content', async () => {
    await writeFile(at('a.txt'), 'theirs');
    await link(at('a.txt'), at('other.txt'));
    await write({});
    expect(await textAt('other.txt')).toBe('theirs');
  });
});

describe('the expected content', () => {
  test.each([
    ['nothing', 'absent', undefined],
    ['a file', THEIRS, 'theirs'],
  ])('a file is written when the expected content is %s', async (_, expected, there) => {
    if (there !== undefined) await writeFile(at('a.txt'), there);
    await write({ expect: expected });
    expect(await textAt('a.txt')).toBe('ours');
  });

  test.each([
    ['nothing, but a file exists', 'absent', 'theirs'],
    ['a file, but another exists', sha256Of('expected'), 'theirs'],
    ['a file, but none exists', THEIRS, undefined],
  ])('a file is not written when the expected content is %s', async (_, expected, there) => {
    if (there !== undefined) await writeFile(at('a.txt'), there);
    await expectClean(write({ expect: expected }), 'EXECUTOR_TARGET_REFUSED');
    await expectClean(preview({ expect: expected }), 'EXECUTOR_TARGET_REFUSED');
    expect(await namesIn()).toEqual(there === undefined ? [] : ['a.txt']);
    expect(await textAt('a.txt').catch(() => undefined)).toBe(there);
  });

  test('the previewed content is expected by default', async () => {
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

describe('a repeated write', () => {
  test.each([
    ['absent', null],
    [THEIRS, THEIRS],
  ])('a repeat finds its work done, and reports the earlier content: %s', async (expected, before) => {
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

  test('a repeat leaves content of other writers', async () => {
    await write({ expect: 'absent' });
    await writeFile(at('a.txt'), 'theirs');
    await expectClean(write({ expect: 'absent' }, { epoch: 3 }), 'EXECUTOR_TARGET_REFUSED');
    expect(await textAt('a.txt')).toBe('theirs');
  });

  test('a first start that finds the content reports it as existing', async () => {
    await writeFile(at('a.txt'), 'ours');
    expect(await write({ expect: 'absent' })).toMatchObject({ before: OURS, written: false });
  });

  test('a repeat removes a half-written file of a crash', async () => {
    await writeFile(at('.holdpoint-e-1'), 'ou');
    await write({}, { epoch: 3 });
    expect(await namesIn()).toEqual(['a.txt']);
    expect(await textAt('a.txt')).toBe('ours');
  });

  test('concurrent starts write once', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => write({ expect: 'absent' })));
    expect(made.filter(({ written }) => written)).toHaveLength(1);
    expect(await namesIn()).toEqual(['a.txt']);
  });
});

describe('clean failures of a write', () => {
  test('an expired lease before the rename leaves nothing behind', async () => {
    await writeFile(at('a.txt'), 'theirs');
    const late = new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'the lease is over'));
    const assertInForce = (): void => {
      throw late;
    };
    await expect(write({}, { assertInForce })).rejects.toBe(late);
    expect(await namesIn()).toEqual(['a.txt']);
    expect(await textAt('a.txt')).toBe('theirs');
  });

  test('a write that is cancelled before it begins changes nothing', async () => {
    await expectClean(write({}, { signal: AbortSignal.abort() }), 'EXECUTOR_CANCELLED');
    expect(await readdir(root)).toEqual([]);
  });

  test.each(['../a.txt', '/etc/passwd', 'b/../../a.txt', 'a\0b', '.', ''])(
    'a path outside of the workspace is refused: %j',
    async (file) => {
      const input = { ...FileWrite.parse({ file: 'x', content: 'ours' }), file };
      await expectClean(capability().run(input, contextFor()), 'EXECUTOR_PATH_REFUSED');
    },
  );

  test.each(['/etc', '..', '../outside'])(
    'a write through a link out of the workspace is refused: %s',
    async (target) => {
      await mkdir(join(scratch.path, 'outside'));
      await symlink(target, at('out'));
      await expectClean(write({ file: 'out/a.txt' }), 'EXECUTOR_PATH_REFUSED');
      await expectClean(preview({ file: 'out/a.txt' }), 'EXECUTOR_PATH_REFUSED');
      expect(await readdir(join(scratch.path, 'outside'))).toEqual([]);
    },
  );

  test.each(['real.txt', '/etc/hostname', 'nowhere'])('a write to a link is refused: %s', async (target) => {
    await writeFile(at('real.txt'), 'theirs');
    await symlink(target, at('a.txt'));
    await expectClean(write({}), 'EXECUTOR_TARGET_REFUSED');
    await expectClean(preview({}), 'EXECUTOR_TARGET_REFUSED');
    expect((await lstat(at('a.txt'))).isSymbolicLink()).toBe(true);
    expect(await textAt('real.txt')).toBe('theirs');
  });

  test('a folder or a device in place of the file is refused', async () => {
    await mkdir(at('folder'));
    await expectClean(write({ file: 'folder' }), 'EXECUTOR_TARGET_REFUSED');
    const made = spawn('mkfifo', [at('pipe')]);
    await new Promise((resolve) => made.once('close', resolve));
    await expectClean(write({ file: 'pipe' }), 'EXECUTOR_TARGET_REFUSED');
  });

  test('a file in place of a folder is refused', async () => {
    await writeFile(at('a.txt'), 'theirs');
    await expectClean(write({ file: 'a.txt/b.txt' }), 'EXECUTOR_TARGET_REFUSED');
    expect(await textAt('a.txt')).toBe('theirs');
  });

  test('a link that appears during the write is not followed', async () => {
    await writeFile(join(scratch.path, 'outside.txt'), 'theirs');
    await symlink(join(scratch.path, 'outside.txt'), at('.holdpoint-e-1'));
    await write({});
    expect(await readFile(join(scratch.path, 'outside.txt'), 'utf8')).toBe('theirs');
    expect(await namesIn()).toEqual(['a.txt']);
  });
});

describe('probing a write', () => {
  test('a file with the new content was written', async () => {
    await write({ expect: 'absent' });
    expect(await probe({ expect: 'absent' })).toEqual({
      found: 'applied',
      reason: 'the file has the new content',
      outputs: { file: 'a.txt', sha256: OURS, before: null, bytes: 4, written: false },
    });
  });

  test('a file with the expected content was not written', async () => {
    expect(await probe({ expect: 'absent' })).toMatchObject({ found: 'not_applied' });
    await writeFile(at('a.txt'), 'theirs');
    expect(await probe({ expect: THEIRS })).toMatchObject({ found: 'not_applied' });
  });

  test('a file with any other content is inconclusive', async () => {
    expect(await probe()).toMatchObject({ found: 'unknown' });
    await writeFile(at('a.txt'), 'theirs');
    expect(await probe({ expect: 'absent' })).toMatchObject({ found: 'unknown' });
  });

  test('a probe creates neither folders nor locks', async () => {
    expect(await probe({ file: 'b/a.txt', expect: 'absent' })).toMatchObject({ found: 'not_applied' });
    await preview({ file: 'b/a.txt' });
    expect(await readdir(root)).toEqual([]);
  });
});

describe('undoing a write', () => {
  test('a new file is removed, also repeatedly', async () => {
    const outputs = await write({ expect: 'absent' });
    expect(await compensate(outputs)).toEqual({ file: 'a.txt', removed: true });
    expect(await compensate(outputs)).toEqual({ file: 'a.txt', removed: false });
    expect(await namesIn()).toEqual([]);
  });

  test('a file that was changed since is kept', async () => {
    const outputs = await write({});
    await writeFile(at('a.txt'), 'theirs');
    await expectClean(compensate(outputs), 'EXECUTOR_TARGET_REFUSED');
    expect(await textAt('a.txt')).toBe('theirs');
  });

  test.each([[{ before: THEIRS }], [{}], [{ before: 7 }]])(
    'an undo does not remove a file that replaced another: %j',
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

  test('an undo with an expired lease changes nothing', async () => {
    const outputs = await write({});
    const assertInForce = (): void => {
      throw new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'the lease is over'));
    };
    await expectClean(compensate(outputs, { assertInForce }), 'EXECUTOR_TARGET_UNAVAILABLE');
    expect(await textAt('a.txt')).toBe('ours');
  });
});

describe('previewing a write', () => {
  test('a preview shows the changed lines', async () => {
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

  test('a preview shows a whole new file', async () => {
    expect(await preview({ expect: 'absent' })).toMatchObject({
      before: null,
      diff: expect.stringContaining('+ours') as string,
    });
  });

  test('a preview reports that there is nothing to do', async () => {
    await writeFile(at('a.txt'), 'ours');
    expect(await preview({ expect: 'absent' })).toMatchObject({ already: true });
  });

  test.each([
    ['bytes', { content: undefined, contentBase64: 'AP8=' }],
    ['content that is too long', { content: 'x\n'.repeat(40_000) }],
  ])('a preview shows sizes and digests of %s', async (_, args) => {
    const shown = await preview(args);
    expect(shown).not.toHaveProperty('diff');
    expect(shown).toMatchObject({ before: null, already: false });
  });
});
