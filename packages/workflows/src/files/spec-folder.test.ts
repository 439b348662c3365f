import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listSpecs } from './spec-folder.ts';
import { temporaryRepository } from '../../testing/repository.ts';

const codes = (root: string, dir: string): readonly string[] =>
  listSpecs(root, dir).problems.map(({ code, file }) => `${code} ${file ?? ''}`);

test('every .md file is a specification in byte order, with slug and branch from its path', () => {
  using repository = temporaryRepository();
  for (const name of ['b.md', 'a/Two words.md', 'a.md', 'Z.md', 'ä.md1', 'notes.txt', 'ü-x.md', '.git/no.md'])
    repository.write(`specs/${name}`, '');
  expect(listSpecs(repository.root, 'specs/')).toEqual({
    specs: [
      { file: 'specs/Z.md', slug: 'z', branch: 'draft/z' },
      { file: 'specs/a.md', slug: 'a', branch: 'draft/a' },
      { file: 'specs/a/Two words.md', slug: 'a-two-words', branch: 'draft/a-two-words' },
      { file: 'specs/b.md', slug: 'b', branch: 'draft/b' },
      { file: 'specs/ü-x.md', slug: 'x', branch: 'draft/x' },
    ],
    problems: [],
  });
});

test('a slug has at most 32 characters and no trailing dash', () => {
  using repository = temporaryRepository();
  repository.write(`specs/${'a'.repeat(31)} and more.md`, '');
  expect(listSpecs(repository.root, 'specs').specs.map(({ slug }) => slug)).toEqual(['a'.repeat(31)]);
});

test('the repository itself may be the folder', () => {
  using repository = temporaryRepository();
  repository.write('spec.md', '');
  expect(listSpecs(repository.root, '.').specs.map(({ file }) => file)).toEqual(['spec.md']);
});

test('links to files and folders are refused', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  repository.write('real/one.md', '');
  mkdirSync(join(root, 'specs'));
  symlinkSync('../real/one.md', join(root, 'specs', 'one.md'));
  symlinkSync('../real', join(root, 'specs', 'folder'));
  symlinkSync('real', join(root, 'link'));
  expect(new Set(codes(root, 'specs'))).toEqual(
    new Set(['WORKFLOW_SPEC_LINK specs/one.md', 'WORKFLOW_SPEC_LINK specs/folder']),
  );
  expect(codes(root, 'link')).toEqual(['WORKFLOW_SPEC_LINK link']);
});

test('files with equal slugs or without a slug are refused', () => {
  using repository = temporaryRepository();
  repository.write('specs/a b.md', '');
  repository.write('specs/a-b.md', '');
  repository.write('specs/a/b.md', '');
  repository.write('specs/日本.md', '');
  expect(codes(repository.root, 'specs')).toEqual([
    'WORKFLOW_SPEC_COLLISION specs/a-b.md',
    'WORKFLOW_SPEC_COLLISION specs/a/b.md',
    'WORKFLOW_SPEC_SLUG specs/日本.md',
  ]);
});

test('a folder that is missing, empty, outside, a file or without a name is refused', () => {
  using repository = temporaryRepository();
  const { root, outside } = repository;
  repository.write('file.md', '');
  repository.write('empty/notes.txt', '');
  writeFileSync(join(outside, 'out.md'), '');
  expect(codes(root, '')).toEqual(['WORKFLOW_SPEC_FOLDER ']);
  expect(codes(root, 'missing')).toEqual(['WORKFLOW_SPEC_FOLDER missing']);
  expect(codes(root, 'file.md')).toEqual(['WORKFLOW_SPEC_FOLDER file.md']);
  expect(codes(root, 'empty')).toEqual(['WORKFLOW_SPEC_NONE empty']);
  expect(codes(root, '..')).toEqual(['WORKFLOW_PATH_REFUSED ..']);
});

test('a pipe is refused as a specification', () => {
  using repository = temporaryRepository();
  mkdirSync(join(repository.root, 'specs'));
  execFileSync('mkfifo', [join(repository.root, 'specs', 'a.md')]);
  expect(codes(repository.root, 'specs')).toEqual(['WORKFLOW_NOT_A_FILE specs/a.md']);
});

test('deep folders and too many files are refused', () => {
  using repository = temporaryRepository();
  repository.write(`deep/${'a/'.repeat(40)}x.md`, '');
  expect(listSpecs(repository.root, 'deep').problems[0]?.code).toBe('WORKFLOW_SPEC_TOO_MANY');
  for (let one = 0; one <= 1_000; one += 1) repository.write(`many/${String(one)}.md`, '');
  expect(listSpecs(repository.root, 'many').problems[0]?.code).toBe('WORKFLOW_SPEC_TOO_MANY');
});
