import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { scratchFolder } from '../../../testing/scratch.ts';
import { commandEnv } from './command-env.ts';
import { groupLives } from './process-group.ts';
import { processEntry } from './process-table.ts';
import { type CommandRequest, runCommand, scriptArgv } from './run-command.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
beforeEach(async () => {
  scratch = await scratchFolder();
});
afterEach(() => scratch.remove());

const env = commandEnv({ PATH: process.env['PATH'], HOME: '/', SECRET: 'x' });
const run = (argv: readonly string[], change: Partial<CommandRequest> = {}) =>
  runCommand({ argv, cwd: scratch.path, env, ...change });
const sh = (script: string, change: Partial<CommandRequest> = {}) => run(scriptArgv(script), change);
const pidIn = (file: string): number => Number(readFileSync(join(scratch.path, file), 'utf8'));
const lives = async (pid: number): Promise<boolean> => (await processEntry(pid))?.gone === false;

describe('running a command', () => {
  test('a command runs without a shell, with its arguments unchanged', async () => {
    const argv = ['printf', '%s|', 'a b', '$HOME', '*', '; exit 3', ''];
    expect(await run(argv)).toMatchObject({ exitCode: 0, stdout: 'a b|$HOME|*|; exit 3||', stderr: '' });
  });

  test('a command reports its exit code and both outputs', async () => {
    expect(await sh('echo out; echo err >&2; exit 7')).toMatchObject({
      exitCode: 7,
      stdout: 'out\n',
      stderr: 'err\n',
      timedOut: false,
      cancelled: false,
      truncated: false,
    });
  });

  test('a command reads its standard input to the end', async () => {
    expect(await run(['cat'], { stdin: 'grüß\n'.repeat(100_000) })).toMatchObject({
      exitCode: 0,
      truncated: true,
    });
    expect(await run(['cat'])).toMatchObject({ exitCode: 0, stdout: '' });
  });

  test('a command may leave its standard input unread', async () => {
    expect(await run(['true'], { stdin: 'x'.repeat(5_000_000) })).toMatchObject({ exitCode: 0 });
  });

  test('a command sees only the given environment', async () => {
    const seen = commandEnv(
      {
        PATH: process.env['PATH'],
        LC_TIME: 'C',
        HOLDPOINT_TOKEN: 'secret',
        GIT_DIR: '/elsewhere',
        AWS_SECRET: 'secret',
        API_KEY: 'named',
        TERM: 'xterm',
      },
      ['API_KEY', 'HOLDPOINT_TOKEN', 'GIT_DIR'],
    );
    const { stdout } = await run(['env'], { env: seen });
    const names = stdout.split('\n').map((line) => line.replace(/=.*/, ''));
    expect(names.filter((name) => name !== '').sort()).toEqual(['API_KEY', 'LC_TIME', 'PATH', 'TERM']);
    expect(stdout).toContain('TERM=dumb');
  });

  test.each([
    ['a missing command', ['no-such-program'], 'command not found: "no-such-program"'],
    ['not executable', ['./plain.txt'], 'command not found: "./plain.txt"'],
    ['a folder', ['/'], 'command not found: "/"'],
    ['an empty name', [''], 'command not found: ""'],
    ['an argument with a NUL', ['echo', 'a\0b'], 'echo cannot be started'],
  ])('a command that is %s does not begin, and reports why', async (_, argv, problem) => {
    writeFileSync(join(scratch.path, 'plain.txt'), '');
    const result = await run(argv);
    expect(result).toMatchObject({ exitCode: undefined, stdout: '' });
    expect(result.problem).toContain(problem);
  });

  test('a command that is too long for the system does not begin, and reports why', async () => {
    const result = await sh(`: ${'x'.repeat(3_000_000)}`);
    expect(result).toMatchObject({ exitCode: undefined });
    expect(result.problem).toMatch(/sh cannot be started: .*E2BIG/);
  });

  test('a command in a missing folder does not begin, and reports why', async () => {
    const cwd = join(scratch.path, 'gone');
    expect((await sh('true', { cwd })).problem).toBe(`no such folder: ${cwd}`);
  });
});

describe('output of a command', () => {
  test('output is passed on line by line, without NUL', async () => {
    const lines: string[] = [];
    await sh(
      String.raw`printf 'a\r\nb\000c\377d\n'; printf gr; sleep 0.05; printf '\303'; sleep 0.05; printf '\274n'`,
      {
        onLine: (stream, line) => lines.push(`${stream}: ${line}`),
      },
    );
    expect(lines).toEqual(['stdout: a', 'stdout: b\uFFFDc\uFFFDd', 'stdout: grün']);
  });

  test('output without a line end is passed on in pieces of whole characters', async () => {
    const lines: string[] = [];
    const text = `a${'😀'.repeat(20_000)}`;
    await run(['cat'], { stdin: text, onLine: (_, line) => lines.push(line) });
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.every((line) => line.length <= 16_384 && line.isWellFormed())).toBe(true);
    expect(lines.join('')).toBe(text);
  });

  test('long output keeps its start and end, and counts the omitted bytes', async () => {
    const result = await sh('printf start; head -c 1000000 /dev/zero | tr "\\0" x; printf end', {
      outputMax: 100,
    });
    expect(result.truncated).toBe(true);
    expect(result.stdout).toBe(
      `start${'x'.repeat(45)}\n[... 999908 bytes omitted ...]\n${'x'.repeat(47)}end`,
    );
  });

  test('output is cut between characters', async () => {
    const { stdout } = await run(['cat'], { stdin: 'ü😀'.repeat(1_000), outputMax: 101 });
    expect(stdout).not.toContain('\uFFFD');
    expect(stdout).toMatch(/^ü😀/);
    expect(stdout).toMatch(/😀$/);
  });
});

describe('end of a command', () => {
  test('processes that the command has left running end with it', async () => {
    const result = await sh('sleep 300 & echo $! > pid; exit 3');
    expect(result.exitCode).toBe(3);
    expect(await lives(pidIn('pid'))).toBe(false);
  });

  test('a process outside the group that holds the output open is not awaited', async () => {
    const result = await sh(
      "setsid sh -c 'echo $$ > pid; exec sleep 300' & until [ -s pid ]; do sleep 0.01; done; echo done",
    );
    process.kill(pidIn('pid'), 'SIGKILL');
    expect(result).toMatchObject({ exitCode: 0, stdout: 'done\n' });
  });

  test('a time limit also ends a grandchild, although both ignore SIGTERM', async () => {
    const script = `trap '' TERM; sh -c 'trap "" TERM; echo $$ > pid; sleep 300' & wait; sleep 300`;
    const result = await sh(script, { timeoutMs: 300, graceMs: 100 });
    expect(result).toMatchObject({
      timedOut: true,
      cancelled: false,
      exitCode: undefined,
      signal: 'SIGKILL',
    });
    expect(await lives(pidIn('pid'))).toBe(false);
  });

  test('a command gets a grace period after SIGTERM', async () => {
    const script = `sh -c 'trap "sleep 0.2; touch tidied; exit" TERM; touch ready; while :; do sleep 0.05; done' & wait`;
    const controller = new AbortController();
    const running = sh(script, { signal: controller.signal });
    await vi.waitFor(() => expect(existsSync(join(scratch.path, 'ready'))).toBe(true), { timeout: 20_000 });
    controller.abort();
    expect(await running).toMatchObject({ cancelled: true, timedOut: false });
    expect(existsSync(join(scratch.path, 'tidied'))).toBe(true);
  });

  test('a command that was cancelled before never begins', async () => {
    const result = await sh('touch ran', { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ cancelled: true, exitCode: undefined });
    expect(existsSync(join(scratch.path, 'ran'))).toBe(false);
  });
});

describe('a command with a record', () => {
  test('a command does nothing before its record is written', async () => {
    let group = 0;
    const result = await sh('echo $$', {
      began: async (started) => {
        group = started;
        expect(await groupLives(started)).toBe(true);
        expect(existsSync(join(scratch.path, 'ran'))).toBe(false);
      },
      stdin: 'kept for the command',
    });
    expect(result).toMatchObject({ exitCode: 0, stdout: `${String(group)}\n` });
  });

  test('a command never begins when its record cannot be written', async () => {
    let group = 0;
    const began = (started: number): Promise<void> => {
      group = started;
      return Promise.reject(new Error('disk full'));
    };
    await expect(sh('touch ran', { began })).rejects.toThrow('disk full');
    expect(await groupLives(group)).toBe(false);
    expect(existsSync(join(scratch.path, 'ran'))).toBe(false);
  });

  test('a command has its own standard input, and no other open files', async () => {
    const result = await sh('cat; ls /proc/self/fd', { stdin: 'text\n', began: () => Promise.resolve() });
    expect(result.stdout).toMatch(/^text\n/);
    // The same number as without a record: other open files of this process count in both.
    expect((await sh('cat; ls /proc/self/fd', { stdin: 'text\n' })).stdout).toBe(result.stdout);
  });
});
