import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS } from '@holdpoint/contracts/values/errors';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { completionsOf } from '../completions/scripts.ts';
import { createProgram } from '../program.ts';
import { referenceFiles } from './files.ts';
import { commandReference, GENERATE_COMMAND, isAlias } from './markdown.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..', '..');

test('the checked-in reference is up to date', () => {
  const stale = [...referenceFiles()].filter(([path, content]) => {
    const file = join(ROOT, path);
    return !existsSync(file) || readFileSync(file, 'utf8') !== content;
  });
  expect(
    stale.map(([path]) => path),
    `run ${GENERATE_COMMAND}`,
  ).toEqual([]);
});

describe('the reference', () => {
  const files = referenceFiles();

  test('the reference has a heading for every command', () => {
    const silent = {
      connect: () => Promise.reject(new Error('unused')),
      out: () => {},
      err: () => {},
      now: () => 0,
    };
    const text = files.get('docs/reference/cli.md') ?? '';
    const headings = new Set(text.split('\n').map((line) => line.replace(/^#+ /, '')));
    const commands = completionsOf(createProgram(silent, []).program).map(({ path }) => path);
    expect(commands.filter((path) => path !== '' && !isAlias(path) && !headings.has(path))).toEqual([]);
    expect(commands).toContain('admin doctor');
    for (const path of commands.filter((each) => isAlias(each) && each !== 'jobs'))
      expect(text).toContain(`| \`${path}\` |`);
  });

  test('the reference has every error', () => {
    const text = files.get('docs/reference/errors.md') ?? '';
    expect(Object.keys(ERRORS).filter((code) => !text.includes(`| \`${code}\` |`))).toEqual([]);
  });

  test('the reference escapes table cells', () => {
    const program = new Command('x');
    program.command('act').description('a | b <c>').option('--of <a|b>', 'one | other', 'a');
    const text = commandReference(program);
    expect(text).toContain('one \\| other (default: a)');
  });
});
