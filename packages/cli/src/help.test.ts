import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { completionsOf } from './completions/scripts.ts';
import { createProgram } from './program.ts';
import { typeLine } from '../testing/terminal.ts';

const program = createProgram(
  {
    connect: () => Promise.reject(new Error('nobody is asked')),
    out: () => undefined,
    err: () => undefined,
    now: () => 0,
  },
  [],
).program;
const paths = completionsOf(program)
  .map(({ path }) => path)
  .filter((path) => path !== '');

describe('help', () => {
  test('every command has help', () => {
    expect(program).toBeInstanceOf(Command);
    expect(paths.length).toBeGreaterThan(40);
  });

  test.each(paths)('the help of `%s` has an example', async (path) => {
    const { code, out, err } = await typeLine([...path.split(' '), '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(new RegExp(`^Examples?:\\n  holdpoint ${path.split(' ')[0] ?? ''}\\b`, 'm'));
  });
});
