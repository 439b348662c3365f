import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { beginWork } from '../../../testing/interrupted-work.ts';
import { scratchFolder } from '../../../testing/scratch.ts';
import { createProcessRecords, type WorkOf } from './process-records.ts';
import { commandEnv } from './command-env.ts';
import { type Confinement, UNCONFINED } from './confinement.ts';
import { createConfinement, type ConfinementParts } from './create-confinement.ts';
import { processEntry } from './process-table.ts';
import { type CommandRequest, runCommand, scriptArgv } from './run-command.ts';

const env = commandEnv({ PATH: process.env['PATH'], HOME: '/' });
const create = (change: Partial<ConfinementParts> = {}): Promise<Confinement> =>
  createConfinement({ namespace: 'off', limits: {}, env, log: silentLogger(), ...change });
/** Not every container allows namespaces: what depends on one is shown where there can be one. */
const here = await create({ namespace: 'auto' });
const isRoot = process.getuid?.() === 0;

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
beforeEach(async () => {
  scratch = await scratchFolder();
});
afterEach(() => scratch.remove());

const sh = (script: string, change: Partial<CommandRequest> = {}) =>
  runCommand({ argv: scriptArgv(script), cwd: scratch.path, env, confinement: here, ...change });
const lives = async (pid: number): Promise<boolean> => (await processEntry(pid))?.gone === false;

describe.runIf(here.namespace !== undefined)('a command with a namespace of processes', () => {
  test.each([
    ['exit 0', { exitCode: 0 }],
    ['exit 1', { exitCode: 1 }],
    ['exit 137', { exitCode: 137 }],
    ['kill -TERM $$', { exitCode: undefined, signal: 'SIGTERM' }],
    ['kill -SEGV $$', { exitCode: undefined, signal: 'SIGSEGV' }],
    ['kill -KILL $$', { exitCode: undefined, signal: 'SIGKILL' }],
  ])('a command that runs `%s` reports its own end', async (script, ending) => {
    const result = await sh(script);
    expect(result).toMatchObject({ ...ending, stdout: '', stderr: '', timedOut: false });
    expect(result.problem).toBeUndefined();
  });

  test('a command sees only its own processes', async () => {
    const { stdout } = await sh(
      'echo "$PPID"; cat /proc/[0-9]*/environ | tr "\\\\0" "\\\\n" | cut -d= -f1 | sort -u',
      {
        env: { ...env, DECLARED: 'x' },
      },
    );
    const [parent, ...names] = stdout.trim().split('\n');
    expect(parent).toBe('0');
    // Variables that shells add.
    const own = names.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name));
    expect(own).toEqual(['DECLARED', 'HOME', 'PATH', 'TERM']);
  });

  test('a command has its own pipes, and no descriptor of its keeper', async () => {
    const bare = await sh('cat; ls /proc/self/fd', { stdin: 'text\n', confinement: UNCONFINED });
    const kept = await sh('cat; ls /proc/self/fd', { stdin: 'text\n' });
    expect(kept.stdout).toBe(bare.stdout);
  });

  test('a command gets its arguments unchanged', async () => {
    const argv = ['printf', '%s|', '--help', '-c', '--', '$HOME', '; exit 3', '', '-'];
    const request = { cwd: scratch.path, env, confinement: here };
    expect(await runCommand({ argv, ...request })).toMatchObject({
      exitCode: 0,
      stdout: '--help|-c|--|$HOME|; exit 3||-|',
    });
    expect((await runCommand({ argv: ['--help'], ...request })).problem).toBe('command not found: "--help"');
    const nul = await runCommand({ argv: ['echo', 'a\0b'], ...request });
    expect(nul.problem).toContain('echo cannot be started');
    const long = await sh(`: ${'x'.repeat(3_000_000)}`);
    expect(long.problem).toMatch(/sh cannot be started: .*E2BIG/);
  });

  test('a command takes processes that left its group with it', async () => {
    writeFileSync(join(scratch.path, 'fifo.sh'), 'echo $$ > inner; exec sleep 300');
    // The pid is that of another table; that it ended shows in the output, which nothing holds open any more.
    const result = await sh('setsid sh fifo.sh & until [ -s inner ]; do sleep 0.01; done; echo done');
    expect(result).toMatchObject({ exitCode: 0, stdout: 'done\n' });
    expect(await survivors('fifo.sh')).toEqual([]);
  });

  test('a command gets SIGTERM first, and SIGKILL after a grace period', async () => {
    const tidying = `trap 'sleep 0.2; touch tidied; exit 3' TERM; touch ready; while :; do sleep 0.05; done`;
    const controller = new AbortController();
    const running = sh(`sh -c '${tidying.replaceAll("'", `'"'"'`)}' & wait`, { signal: controller.signal });
    await vi.waitFor(() => readFileSync(join(scratch.path, 'ready')), { timeout: 20_000 });
    controller.abort();
    expect(await running).toMatchObject({ cancelled: true });
    expect(readFileSync(join(scratch.path, 'tidied'), 'utf8')).toBe('');
    const stubborn = await sh(`trap '' TERM; setsid sleep 300 & sleep 300`, { timeoutMs: 300, graceMs: 100 });
    expect(stubborn).toMatchObject({ timedOut: true, exitCode: undefined, signal: 'SIGKILL' });
  });

  test('a command begins only after its group is on record', async () => {
    const groups: number[] = [];
    const result = await sh('true', {
      began: async (group) => {
        groups.push(group);
        expect(await lives(group)).toBe(true);
      },
    });
    expect(result).toMatchObject({ exitCode: 0 });
    expect(groups).toHaveLength(1);
    const began = () => Promise.reject(new Error('disk full'));
    await expect(sh('touch ran', { began })).rejects.toThrow('disk full');
    expect(() => readFileSync(join(scratch.path, 'ran'))).toThrow('ENOENT');
  });

  test('a command ends with its executor, together with all its processes', async () => {
    const work: WorkOf = { effectId: 'e-1', repository: '/r', task: 't-1', node: 'agent', attempt: 1 };
    writeFileSync(join(scratch.path, 'away.sh'), 'touch away; exec sleep 300');
    const executor = beginWork(
      scratch.path,
      work,
      scratch.path,
      'setsid sh away.sh & sh -c "trap : TERM HUP; touch near; sleep 300; sleep 300" & wait',
      here,
    );
    await vi.waitFor(
      () => [readFileSync(join(scratch.path, 'away')), readFileSync(join(scratch.path, 'near'))],
      { timeout: 30_000 },
    );
    expect((await survivors(scratch.path)).length).toBeGreaterThan(1);
    await executor.kill();
    await vi.waitFor(async () => expect(await survivors(scratch.path)).toEqual([]), { timeout: 30_000 });
    // Its record is still there, although the process is gone.
    expect(await createProcessRecords(scratch.path).endAll()).toBe(0);
  });
});

/** The processes in this test's folder, or with this argument. */
const survivors = async (word: string): Promise<readonly string[]> => {
  const { stdout } = await runCommand({
    argv: scriptArgv(
      `for p in /proc/[0-9]*; do
         if [ "$(readlink "$p/cwd")" = "$1" ] && [ "$\{p#/proc/}" != "$$" ]; then tr "\\\\0" " " < "$p/cmdline"; echo; fi
       done 2>/dev/null || true`,
    ).concat('sh', scratch.path),
    cwd: '/',
    env,
  });
  return stdout.split('\n').filter((line) => line.includes(word) || (word === scratch.path && line !== ''));
};

describe('a PID namespace', () => {
  test('commands run without a namespace when it is off', async () => {
    const off = await create();
    expect(off.namespace).toBeUndefined();
    expect(await sh('echo "$PPID"', { confinement: off })).toMatchObject({
      exitCode: 0,
      stdout: `${String(process.pid)}\n`,
    });
  });

  test('a namespace that does not work is skipped, or ends the start when it is required', async () => {
    const nowhere = { ...env, PATH: scratch.path };
    expect((await create({ namespace: 'auto', env: nowhere })).namespace).toBeUndefined();
    const required = create({ namespace: 'required', env: nowhere });
    await expect(required).rejects.toThrow(ConfigError);
    await expect(required).rejects.toThrow(/HOLDPOINT_PROCESS_SANDBOX: .*unshare not found/);
  });

  test('a failed namespace is reported, and the command never begins', async () => {
    const namespace = { unshare: '/bin/false' };
    const result = await sh('touch ran', { confinement: { limit: [], namespace } });
    expect(result).toMatchObject({
      exitCode: undefined,
      problem: 'cannot create its namespace: unshare ended with 1',
    });
    expect(() => readFileSync(join(scratch.path, 'ran'))).toThrow('ENOENT');
  });
});

describe('limits', () => {
  const limited = (limits: ConfinementParts['limits']) => create({ namespace: 'auto', limits });

  test('limits of memory, file size and time are enforced', async () => {
    const confinement = await limited({ memoryBytes: 256 * 2 ** 20, fileBytes: 2 ** 20, cpuSeconds: 1 });
    expect(await sh('echo fine', { confinement })).toMatchObject({ exitCode: 0, stdout: 'fine\n' });
    const memory = await sh('head -c 1G /dev/zero | tail -c 900M | wc -c', { confinement });
    expect(memory.stdout).not.toBe('943718400\n');
    expect(memory.stderr).toMatch(/memory/);
    await sh('head -c 2M /dev/zero > large', { confinement });
    expect(readFileSync(join(scratch.path, 'large')).length).toBe(2 ** 20);
    expect(await sh('while :; do :; done', { confinement, timeoutMs: 120_000 })).toMatchObject({
      timedOut: false,
      exitCode: undefined,
    });
  });

  test('a command cannot raise its limits', async () => {
    const confinement = await limited({ fileBytes: 2 ** 20 });
    const { stdout } = await sh('ulimit -H -f; ulimit -S -f', { confinement });
    expect(stdout).toBe('2048\n2048\n');
  });

  test.runIf(isRoot)('of processes is refused for root, whom it does not bind', async () => {
    const refused = limited({ processes: 100 });
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(/HOLDPOINT_PROCESS_MAX_PROCESSES: root ignores this limit/);
  });

  test('limits that cannot be applied end the start', async () => {
    const refused = create({ limits: { fileBytes: 2 ** 20 }, env: { ...env, PATH: scratch.path } });
    await expect(refused).rejects.toThrow(/limits need prlimit/);
  });
});
