import { expect, test } from 'vitest';
import { runProgram } from './program.ts';

const said = async (...args: readonly string[]): Promise<string> => {
  let text = '';
  const code = await runProgram(args, {
    connect: () => Promise.reject(new Error('nobody is asked')),
    out: (more) => (text += more),
    err: (more) => (text += more),
    now: () => 0,
  });
  expect(code).toBe(2);
  return text;
};

test.each([
  ['an option', ['task', 'list', '--\u001b[31m']],
  ['an argument', ['task', 'show', '\u001b[31m\u202e']],
  ['a command', ['\u001b[31m']],
])('a usage error of %s shows escaped arguments', async (_, args) => {
  const text = await said(...args);
  expect(text).toContain('\\u{1b}[31m');
  expect(text).toMatch(/^error USAGE: [^\p{Cc}\p{Cf}]*\n[^\p{Cc}\p{Cf}]*\n$/u);
});
