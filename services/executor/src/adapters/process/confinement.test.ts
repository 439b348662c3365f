import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { beginWork } from '../../../testing/interrupted-work.ts';
import { scratchFolder } from '../../../testing/scratch.ts';
import { createProcessRecords, type WorkOf } from './process-records.ts';
import { commandEnv } from './command-env.ts';
import { type Launcher, UNCONFINED, visibleBeside } from './confinement.ts';
import { createConfinement, type ConfinementParts, tryOut, unconfined } from './create-confinement.ts';
import { processEntry } from './process-table.ts';
import { type CommandRequest, runCommand, scriptArgv } from './run-command.ts';

const env = commandEnv({ PATH: process.env['PATH'], HOME: '/' });
/** The executor's own folder. It outlives single tests, because the confinement is tried out once. */
const state = realpathSync(mkdtempSync(join(tmpdir(), 'holdpoint-state-')));
const secret = join(state, 'secret');
writeFileSync(secret, 'open-sesame\n', { mode: 0o600 });
const create = (change: Partial<ConfinementParts> = {}) =>
  createConfinement({
    limits: {},
    env,
    state,
    network: false,
    hidden: [],
    shown: [],
    writable: [],
    ...change,
  });
const found = await create();
const here = found.confinement;
const { launcher } = here;
/** Whether the tests of one way can run here. The title says why, if they cannot. */
const whyNot = launcher === undefined ? ` (skipped: ${found.problem ?? ''})` : '';
const apart = launcher !== undefined && launcher.namespaces !== 'none';
const isRoot = process.getuid?.() === 0;
afterAll(() => rmSync(state, { recursive: true, force: true }));

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
beforeEach(async () => {
  scratch = await scratchFolder();
});
afterEach(() => scratch.remove());

const sh = (script: string, change: Partial<CommandRequest> = {}) =>
  runCommand({
    argv: scriptArgv(script),
    cwd: scratch.path,
    env,
    confinement: here,
    access: { write: [scratch.path] },
    ...change,
  });
const lives = async (pid: number): Promise<boolean> => (await processEntry(pid))?.gone === false;

/** Every way of this machine: with and without Landlock beside the namespaces, and Landlock alone. */
const ways: readonly (readonly [string, Launcher])[] =
  launcher === undefined
    ? []
    : [
        ['all parts', launcher],
        ...(apart && launcher.landlock > 0
          ? ([
              ['namespaces alone', { ...launcher, landlock: 0 }],
              ['Landlock alone', { ...launcher, namespaces: 'none' }],
            ] as const)
          : []),
      ];

describe.each(ways)('a confined command with %s', (_, way) => {
  const confined = (script: string, change: Partial<CommandRequest> = {}) =>
    sh(script, { confinement: { limit: [], launcher: way }, ...change });

  test('a command cannot read a secret, also through a link or another process', async () => {
    symlinkSync(state, join(scratch.path, 'link'));
    const attacks = [
      `cat ${secret}`,
      'cat link/secret',
      `ln ${secret} hard; cat hard`,
      `mv ${state} moved; cat moved/secret`,
      `cat /proc/${String(process.pid)}/root${secret}`,
      `cat /proc/${String(process.pid)}/cwd/../../${secret}`,
      `unshare -Urm sh -c 'umount -l ${state}; cat ${secret}'`,
      `cp -r ${state} copied; cat copied/secret`,
    ];
    for (const attack of attacks) {
      const { stdout } = await confined(attack);
      expect(stdout, attack).not.toContain('sesame');
    }
    // The attack itself is real.
    expect((await sh(`cat ${secret}`, { confinement: UNCONFINED })).stdout).toContain('sesame');
    expect((await sh('cat link/secret', { confinement: UNCONFINED })).stdout).toContain('sesame');
  });

  test('a command sees neither environment nor memory of its executor', async () => {
    const { pid } = process;
    const attack = `cat /proc/${String(pid)}/environ || head -c 1 /proc/${String(pid)}/mem || ls -l /proc/${String(pid)}/fd/0`;
    expect((await confined(attack)).exitCode).not.toBe(0);
    expect((await sh(`cat /proc/${String(pid)}/environ`, { confinement: UNCONFINED })).exitCode).toBe(0);
  });

  test('a command writes its own folder and a private temporary one, and nothing else', async () => {
    const { stdout, stderr } = await confined(
      `echo own > own; f=$(mktemp); echo "$f" > "$f"; cat "$f"
       touch ${state}/written /etc/written /usr/written; echo x > ${secret}; rm -f ${secret}; exit 0`,
    );
    expect(readFileSync(join(scratch.path, 'own'), 'utf8')).toBe('own\n');
    expect(stdout).toMatch(/^\/tmp\/.*\n$/);
    expect(() => readFileSync(stdout.trim())).toThrow('ENOENT');
    expect(stderr).toContain('/etc/written');
    expect(readFileSync(secret, 'utf8')).toBe('open-sesame\n');
    expect(() => readFileSync(join(state, 'written'))).toThrow('ENOENT');
  });

  test('a command reaches no server, unless it may use the network', async () => {
    const server = createServer((socket) => socket.end('reached\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    const ask = `perl -e 'socket(S,2,1,0) && connect(S, pack("S n a4 x8", 2, ${port}, "\\x7f\\0\\0\\1")) && print scalar <S>'`;
    try {
      expect((await confined(ask)).stdout).toBe('');
      const access = { write: [scratch.path], network: true };
      expect((await confined(ask, { access })).stdout).toBe('reached\n');
    } finally {
      server.close();
    }
  });

  test('a folder that is to be written and kept is written, and kept places in it are not', async (context) => {
    if (way.namespaces === 'none') return context.skip();
    writeFileSync(join(scratch.path, 'config'), 'kept\n');
    const access = { write: [scratch.path], keep: [scratch.path, join(scratch.path, 'config')] };
    const { stderr } = await confined('echo own > own; echo changed > config', { access });
    expect(stderr).toContain('Read-only file system');
    expect(readFileSync(join(scratch.path, 'own'), 'utf8')).toBe('own\n');
    expect(readFileSync(join(scratch.path, 'config'), 'utf8')).toBe('kept\n');
  });

  test('a folder that contains a hidden one is no working folder', async () => {
    const result = await confined('touch ran', { access: { write: [tmpdir()] } });
    expect(result.problem).toMatch(/working folder contains .*holdpoint-state/);
  });

  test('a link in place of the working folder is not followed', async () => {
    const link = join(scratch.path, 'link');
    symlinkSync(state, link);
    const { stdout } = await confined('cat link/secret', { access: { write: [link] } });
    expect(stdout).not.toContain('sesame');
  });

  test('a command has no rights beyond those of its user', async () => {
    const { stdout } = await confined('grep -h -e CapEff -e NoNewPrivs /proc/self/status');
    expect(stdout).toBe('CapEff:\t0000000000000000\nNoNewPrivs:\t1\n');
  });
});

describe.runIf(apart && isRoot)('a command of another user', () => {
  const user = { name: 'nobody', uid: 65_534, gid: 65_534, groups: [65_534], home: '/' };

  test('a command of another user writes the worktree of its executor as its own', async () => {
    const { confinement, problem } = await create({ user });
    expect(problem).toBeUndefined();
    chmodSync(scratch.path, 0o700);
    mkdirSync(join(scratch.path, 'inner'), { mode: 0o700 });
    const result = await sh('id -u; echo x > inner/made; stat -c %u inner/made; cat /etc/shadow', {
      confinement,
    });
    expect(result.stdout).toBe('65534\n65534\n');
    expect(result.stderr).toContain('shadow');
    expect(readFileSync(join(scratch.path, 'inner', 'made'), 'utf8')).toBe('x\n');
  });
});

test('a home folder shows its files, and forgets changes to it', async (context) => {
  if (!apart) return context.skip();
  const home = join(scratch.path, 'home');
  mkdirSync(home);
  writeFileSync(join(home, 'kept'), 'kept\n');
  const { confinement } = await create({ env: { ...env, HOME: home } });
  const result = await sh(
    `cat ${home}/kept; echo changed > ${home}/kept; mkdir ${home}/new; cat ${home}/kept`,
    {
      confinement,
      access: { write: [] },
      cwd: '/',
    },
  );
  expect(result).toMatchObject({ stdout: 'kept\nchanged\n', stderr: '' });
  expect(readFileSync(join(home, 'kept'), 'utf8')).toBe('kept\n');
});

test('places beside hidden ones are visible, and hidden ones are not', async () => {
  for (const name of ['a', 'b']) mkdirSync(join(scratch.path, name));
  for (const name of ['a/hidden', 'a/seen', 'b/seen']) writeFileSync(join(scratch.path, name), '');
  const visible = await visibleBeside([join(scratch.path, 'a', 'hidden')], scratch.path);
  expect([...visible].sort()).toEqual([join(scratch.path, 'a', 'seen'), join(scratch.path, 'b')]);
});

describe.runIf(apart)(`a command with a namespace of processes${whyNot}`, () => {
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
    expect(own).toEqual(['DECLARED', 'HOME', 'PATH', 'TERM', 'TMPDIR']);
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

describe('a machine without a part', () => {
  test('without perl nothing is confined, and the problem says so', async () => {
    const { confinement, problem } = await create({ env: { ...env, PATH: scratch.path } });
    expect(confinement.launcher).toBeUndefined();
    expect(problem).toBe('perl not found: install perl');
  });

  test('a launcher that fails is reported, and the command never begins', async () => {
    const broken: Launcher = {
      perl: '/bin/false',
      namespaces: 'none',
      landlock: 0,
      network: false,
      limits: [],
      hidden: [],
      shown: [],
      writable: [],
    };
    const result = await sh('touch ran', { confinement: { limit: [], launcher: broken } });
    expect(result).toMatchObject({
      exitCode: undefined,
      problem: 'cannot be confined: the launcher ended with 1',
    });
    expect(() => readFileSync(join(scratch.path, 'ran'))).toThrow('ENOENT');
  });

  test('a confinement that lets a secret through is not taken', async () => {
    // A launcher without namespaces and Landlock runs commands, and protects nothing.
    const open: Launcher = {
      perl: launcher?.perl ?? '/usr/bin/perl',
      namespaces: 'none',
      landlock: 0,
      network: true,
      limits: [],
      hidden: [],
      shown: [],
      writable: [],
    };
    const { stdout } = await sh(`cat ${secret}`, { confinement: { limit: [], launcher: open } });
    expect(stdout).toContain('sesame');
    expect((await tryOut(open, { state, env })).stderr).toContain('a hidden file can be read');
  });
});

describe.each([
  ['confined', (limits: ConfinementParts['limits']) => create({ limits })],
  [
    'unconfined',
    (limits: ConfinementParts['limits']) =>
      unconfined({ limits, env, state, network: true, hidden: [], shown: [], writable: [] }),
  ],
] as const)('limits of a command that is %s', (_, limited) => {
  test('limits of memory, file size and time are enforced', async () => {
    const { confinement } = await limited({ memoryBytes: 256 * 2 ** 20, fileBytes: 2 ** 20, cpuSeconds: 1 });
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
    const { confinement } = await limited({ fileBytes: 2 ** 20 });
    const { stdout } = await sh('ulimit -H -f; ulimit -S -f', { confinement });
    expect(stdout).toBe('2048\n2048\n');
  });
});

test.runIf(isRoot)('a limit of processes is refused for root, whom it does not bind', async () => {
  const refused = create({ limits: { processes: 100 } });
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toThrow(/HOLDPOINT_PROCESS_MAX_PROCESSES: root ignores this limit/);
});
