import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { poll } from './local/poll.ts';

let root = '';

/** A stand-in for npx: records each call, then acts as the test's installation. */
const installer = (script: string) =>
  writeFile(
    join(root, 'bin', 'npx'),
    `#!/bin/sh\necho "$@" >> "${root}/calls"\necho "env $NODE_ENV $npm_config_omit" >> "${root}/calls"\n${script}\n`,
    { mode: 0o755 },
  );

const GOOD = () =>
  `mkdir -p "${root}/node_modules/node/bin"; ln -sf "${process.execPath}" "${root}/node_modules/node/bin/node"`;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'holdpoint-bootstrap-'));
  for (const folder of ['bin', 'infra/local', 'tests', 'packages/one', 'services/two', 'examples/three'])
    await mkdir(join(root, folder), { recursive: true });
  await copyFile(join(import.meta.dirname, 'bootstrap.mjs'), join(root, 'infra', 'bootstrap.mjs'));
  for (const file of ['package.json', 'pnpm-lock.yaml', 'packages/one/package.json'])
    await writeFile(join(root, file), '{}');
  await installer(GOOD());
  await writeFile(
    join(root, 'infra', 'local', 'demo.ts'),
    `const [first = '', ...rest]: string[] = process.argv.slice(2);
process.on('SIGTERM', () => { console.log('told to stop'); process.exit(7); });
console.log(JSON.stringify([first, ...rest]));
if (first === 'wait') setInterval(() => {}, 1000);
else process.exit(Number(first));`,
  );
});
afterEach(() => rm(root, { recursive: true, force: true }));

const launch = (args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess =>
  spawn(process.execPath, [join(root, 'infra', 'bootstrap.mjs'), ...args], {
    env: { PATH: `${join(root, 'bin')}:${process.env['PATH'] ?? ''}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });

const outcome = async (child: ChildProcess) => {
  let [out, err] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => void child.once('close', resolve));
  return { code, out, err };
};

const bootstrap = (args: readonly string[], env?: Readonly<Record<string, string>>) =>
  outcome(launch(args, env));
const calls = async () =>
  (await readFile(join(root, 'calls'), 'utf8')).split('\n').filter((line) => line.includes('install')).length;

describe('a command', { timeout: 30_000 }, () => {
  test('a command gets its arguments and returns its exit code and only its own output', async () => {
    expect(await bootstrap(['demo', '3', '--x', 'a b'])).toMatchObject({
      code: 3,
      out: '["3","--x","a b"]\n',
    });
  });

  test('a command gets the signals', async () => {
    const child = launch(['demo', 'wait']);
    const ended = outcome(child);
    let out = '';
    child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
    await poll(async () => (out.includes('wait') ? true : undefined), {
      timeoutMs: 20_000,
      what: 'the command runs',
    });
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 7, out: '["wait"]\ntold to stop\n' });
  });

  test('an unknown command is refused with a list of the known ones', async () => {
    const { code, err } = await bootstrap(['dance']);
    expect(code).toBe(64);
    expect(err).toContain(
      ' start|demo|check|test|test:all|prove|bench|soak|simulate|planted|mutants|torture|pack|test:k8s|release|holdpoint [arguments]',
    );
  });
});

describe('the console', { timeout: 30_000 }, () => {
  /** A stand-in for the builder: the build is complete once the file exists. */
  const builder = async (script: string) => {
    await mkdir(join(root, 'packages', 'console'), { recursive: true });
    await writeFile(
      join(root, 'packages', 'console', 'build.mjs'),
      `import { existsSync, writeFileSync, appendFileSync } from 'node:fs';
const built = new URL('./built', import.meta.url);
export const isBuilt = () => existsSync(built);
if (process.argv[1] === new URL(import.meta.url).pathname) {
  appendFileSync(new URL('./builds', import.meta.url), 'once\\n');
  ${script}
}`,
    );
  };
  const builds = async () =>
    (await readFile(join(root, 'packages', 'console', 'builds'), 'utf8')).trim().split('\n').length;

  test('the console is built before the process that serves it, and once by two commands at once', async () => {
    await builder(`setTimeout(() => writeFileSync(built, ''), 300);`);
    const [first, second] = await Promise.all([bootstrap(['demo', '0']), bootstrap(['demo', '0'])]);
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(first.err + second.err).toContain('building the console ...\n');
    expect(await bootstrap(['demo', '0'])).toEqual({ code: 0, out: '["0"]\n', err: '' });
    expect(await builds()).toBe(1);
  });

  test('a failed build of the console ends the commands that vouch for it', async () => {
    await builder(
      `console.error('\\u001b[31mBuild failed with 1 error:\\u001b[0m\\n\\nno such export'); process.exit(1);`,
    );
    const { code, out, err } = await bootstrap(['pack', '0']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('could not be built: Build failed with 1 error: no such export\n');
  });

  test('a failed build of the console is reported and stops nothing else', async () => {
    await builder(`console.error('ERROR: no such thing'); process.exit(1);`);
    const { code, out, err } = await bootstrap(['demo', '0']);
    expect({ code, out }).toEqual({ code: 0, out: '["0"]\n' });
    expect(err).toContain('holdpoint: the console could not be built: ERROR: no such thing\n');
  });
});

describe('the installation', { timeout: 30_000 }, () => {
  test('the installation runs once, and again when its inputs change', async () => {
    expect((await bootstrap(['demo', '0'])).err).toMatch(
      /^installing the workspace \(pnpm 12\.21\.0\) \.\.\.\ninstalled in [\d.]+ s\n$/,
    );
    expect(await bootstrap(['demo', '0'])).toEqual({ code: 0, out: '["0"]\n', err: '' });
    expect(await calls()).toBe(1);
    await writeFile(join(root, 'packages', 'one', 'package.json'), '{"name":"one"}');
    await bootstrap(['demo', '0']);
    expect(await calls()).toBe(2);
  });

  test('the installation runs once for two commands at once', async () => {
    await installer(`sleep 1; ${GOOD()}`);
    const both = await Promise.all([bootstrap(['demo', '0']), bootstrap(['demo', '0'])]);
    expect(both.map(({ code, out }) => ({ code, out }))).toEqual([
      { code: 0, out: '["0"]\n' },
      { code: 0, out: '["0"]\n' },
    ]);
    expect(await calls()).toBe(1);
  });

  test('the installation does not wait for a killed one', async () => {
    await mkdir(join(root, '.holdpoint', 'data'), { recursive: true });
    await writeFile(join(root, '.holdpoint', 'data', 'installing'), '999999999');
    expect((await bootstrap(['demo', '0'])).code).toBe(0);
  });

  test('the installation uses the pinned pnpm and the unchanged lockfile', async () => {
    await bootstrap(['demo', '0']);
    expect(await readFile(join(root, 'calls'), 'utf8')).toMatch(
      /^-y pnpm@12\.21\.0 install --frozen-lockfile /,
    );
  });

  test('the installation ignores a configuration that omits needed dependencies', async () => {
    await bootstrap(['demo', '0'], { NODE_ENV: 'production', npm_config_omit: 'dev' });
    expect(await readFile(join(root, 'calls'), 'utf8')).toMatch(/\nenv {2}\n/);
  });

  test('a failed installation is one line with the path of its log, and is retried', async () => {
    await installer(
      'echo "Error: ERR_PNPM_FETCH_404"; echo "  ╰─▶ GET https://registry.example/x: Not Found"; exit 1',
    );
    const { code, out, err } = await bootstrap(['demo', '0']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err.trimEnd().split('\n').at(-1)).toBe(
      `holdpoint: the installation failed: Error: ERR_PNPM_FETCH_404 GET https://registry.example/x: Not Found (all of it in ${root}/.holdpoint/data/logs/install.log)`,
    );
    await installer(GOOD());
    expect((await bootstrap(['demo', '0'])).code).toBe(0);
  });

  test('an installation without npx names the missing program', async () => {
    await rm(join(root, 'bin', 'npx'));
    const { code, err } = await bootstrap(['demo', '0'], { PATH: join(root, 'bin') });
    expect(code).toBe(1);
    expect(err).toContain('holdpoint: npx is not on PATH: install Node.js together with npm\n');
  });

  test('an installation with a broken Node.js reports it', async () => {
    await installer(
      `mkdir -p "${root}/node_modules/node/bin"; printf '#!/nonexistent' > "${root}/node_modules/node/bin/node"`,
    );
    const { code, err } = await bootstrap(['demo', '0']);
    expect(code).toBe(1);
    expect(err).toMatch(/holdpoint: Node\.js 24 \(npm package "node"\) does not run on \w+ \w+\n$/);
  });
});
