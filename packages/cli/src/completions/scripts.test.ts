import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { typeLine } from '../../testing/terminal.ts';

const script = async (shell: string): Promise<string> => {
  const { out, code } = await typeLine(['completions', shell]);
  expect(code).toBe(0);
  return out;
};

/** The completions of bash for the last word. */
const offered = (completion: string, words: readonly string[]): readonly string[] => {
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const program = `${completion}
COMP_WORDS=(${quoted}); COMP_CWORD=${String(words.length - 1)}; _holdpoint; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['--norc', '-c', program], { encoding: 'utf8' }).trim().split('\n');
};

describe('the bash completion', () => {
  test('bash can parse the script', async () => {
    const input = await script('bash');
    expect(() => execFileSync('bash', ['-n'], { input, stdio: 'pipe' })).not.toThrow();
  });

  test.each([
    [['holdpoint', 'j'], ['jobs']],
    [['holdpoint', 'jobs', 'sch'], ['schedule']],
    [['holdpoint', 'jobs', 'list', '--dis'], ['--dismiss-failures']],
    [['holdpoint', 'task', 'fork', '--ver'], ['--version']],
    [['holdpoint', 'run', 'demo', '--spec'], ['--spec-dir']],
    [['holdpoint', '--no-ansi', 'approval', 'app'], ['approve']],
  ])('%j is completed', async (words, expected) =>
    expect(offered(await script('bash'), words)).toEqual(expected),
  );

  test('the top level offers every visible command', async () => {
    const all = offered(await script('bash'), ['holdpoint', '']);
    expect(all).toEqual(expect.arrayContaining(['run', 'jobs', 'workflow', 'admin', 'task', 'completions']));
    expect(await script('bash')).not.toContain('--input-named');
  });
});

test.each(['zsh', 'fish'])('the %s completion knows the same commands', async (shell) => {
  const text = await script(shell);
  for (const path of ['jobs schedule', 'task fork', 'approval approve']) expect(text).toContain(path);
  expect(text).toContain('--dismiss-failures');
});

test('the singular is an alias', async () => {
  expect((await typeLine(['completion', 'bash'])).out).toBe(await script('bash'));
});

test('an unknown shell is a usage error', async () => {
  expect(await typeLine(['completions', 'tcsh'])).toMatchObject({ code: 2, out: '' });
});
