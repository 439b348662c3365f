import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FILE_MAX_BYTES, readInside } from './read-inside.ts';
import { temporaryRepository } from '../../testing/repository.ts';

const withCode = (code: string): unknown => expect.objectContaining({ code });
const refused = withCode('WORKFLOW_PATH_REFUSED');

test('a file is read by its relative or absolute path', () => {
  using repository = temporaryRepository();
  const absolute = repository.write('a/b.toml', 'ä = 1\n');
  const read = readInside(repository.root);
  expect(read('a/b.toml')).toBe('ä = 1\n');
  expect(read('./a/../a/b.toml')).toBe('ä = 1\n');
  expect(read(absolute)).toBe('ä = 1\n');
});

test('a missing file reads as undefined', () => {
  using repository = temporaryRepository();
  repository.write('file', '');
  const read = readInside(repository.root);
  expect(read('missing.toml')).toBeUndefined();
  expect(read('missing/too.toml')).toBeUndefined();
  expect(read('file/below.toml')).toBeUndefined();
});

test.each(['../secret', '../missing', '/etc/passwd', '/no/such/file', 'a/../../secret', 'a\0b'])(
  'the path %j leads out and is refused, whether there is something or not',
  (path) => {
    using repository = temporaryRepository();
    writeFileSync(join(repository.outside, 'secret'), 'secret');
    expect(() => readInside(repository.root)(path)).toThrow(refused);
  },
);

test("a folder with the repository's name as a prefix is outside", () => {
  using repository = temporaryRepository();
  mkdirSync(`${repository.root}-other`);
  writeFileSync(`${repository.root}-other/file`, 'secret');
  expect(() => readInside(repository.root)('../repository-other/file')).toThrow(refused);
});

test('a name that begins with two dots is an ordinary name', () => {
  using repository = temporaryRepository();
  repository.write('..note', 'inside');
  expect(readInside(repository.root)('..note')).toBe('inside');
});

test('a link inside is followed, and a link to the outside is refused', () => {
  using repository = temporaryRepository();
  const { outside, root } = repository;
  writeFileSync(join(outside, 'secret'), 'secret');
  repository.write('real.toml', 'inside');
  symlinkSync('real.toml', join(root, 'good'));
  symlinkSync(join(outside, 'secret'), join(root, 'file'));
  symlinkSync(outside, join(root, 'folder'));
  symlinkSync('file', join(root, 'twice'));
  const read = readInside(root);
  expect(read('good')).toBe('inside');
  for (const path of ['file', 'twice', 'folder/secret', 'folder/missing'])
    expect(() => read(path), path).toThrow(refused);
});

test('dangling and circular links are refused', () => {
  using repository = temporaryRepository();
  const { outside, root } = repository;
  symlinkSync(join(outside, 'missing'), join(root, 'dangling'));
  symlinkSync('loop', join(root, 'loop'));
  const read = readInside(root);
  expect(() => read('dangling')).toThrow(refused);
  expect(() => read('dangling/below')).toThrow(refused);
  expect(() => read('loop')).toThrow(refused);
});

test('a pipe is refused without waiting for a writer', () => {
  using repository = temporaryRepository();
  execFileSync('mkfifo', [join(repository.root, 'pipe.toml')]);
  expect(() => readInside(repository.root)('pipe.toml')).toThrow(withCode('WORKFLOW_NOT_A_FILE'));
});

test('sockets and folders are refused', async () => {
  using repository = temporaryRepository();
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(join(repository.root, 'socket'), resolve);
  });
  try {
    const read = readInside(repository.root);
    expect(() => read('socket')).toThrow(withCode('WORKFLOW_NOT_A_FILE'));
    expect(() => read('.git')).toThrow(withCode('WORKFLOW_NOT_A_FILE'));
    expect(() => read('.')).toThrow(withCode('WORKFLOW_NOT_A_FILE'));
  } finally {
    server.close();
  }
});

test('a file is read up to the size limit', () => {
  using repository = temporaryRepository();
  repository.write('most', 'x'.repeat(FILE_MAX_BYTES));
  repository.write('more', 'x'.repeat(FILE_MAX_BYTES + 1));
  const read = readInside(repository.root);
  expect(read('most')).toHaveLength(FILE_MAX_BYTES);
  expect(() => read('more')).toThrow(withCode('WORKFLOW_FILE_TOO_LARGE'));
});

test('a file that is not UTF-8 is refused', () => {
  using repository = temporaryRepository();
  writeFileSync(join(repository.root, 'image'), Buffer.from([0xff, 0xfe, 0x00]));
  expect(() => readInside(repository.root)('image')).toThrow(withCode('WORKFLOW_FILE_NOT_TEXT'));
});

// root can read every file.
test.skipIf(process.getuid?.() === 0)('a file that may not be read says why', () => {
  using repository = temporaryRepository();
  chmodSync(repository.write('closed', ''), 0o000);
  expect(() => readInside(repository.root)('closed')).toThrow(
    expect.objectContaining({ code: 'WORKFLOW_FILE_UNREADABLE', found: 'EACCES' }),
  );
});
