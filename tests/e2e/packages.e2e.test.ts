import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { VERSION } from '@holdpoint/contracts/values/version';
import { layout } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { findNats, natsSearchOf } from '@holdpoint/infra/local/nats/nats-program';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { startChild } from '@holdpoint/infra/local/process/child';
import { silent } from '@holdpoint/infra/local/progress';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startStack, type Stack } from '../conformance/support/stack.ts';
import { shareOfTree } from '../kit/processes.ts';
import { type Registry, startRegistry } from '../kit/registry.ts';
import { startPostgresServer } from '../kit/stack/postgres-server.ts';
import { currentRun } from '../kit/stack/run.ts';
import { Hopeless, until, untilTrue } from '../kit/until.ts';
import { decideFirstProgram, decideNext } from '../kit/tasks/first-program.ts';
import { filesIn } from '../repo/docs-code.ts';

// An empty folder of a new user: the packages of a release from a registry, and the first program of docs/sdk.md.

const run = promisify(execFile);
/** The oldest that `engines` of the packages allows. */
const OLDEST_NODE = '22.18.0';
const OLDEST_TYPESCRIPT = '5.9';
const ESBUILD = '0.28';
const MANIFEST = '{"name":"mine","private":true,"type":"module"}\n';
const MIB = 1_024 * 1_024;
/** What `holdpoint dev` may take. It takes a tenth less, which varies by a twentieth. */
const DEV_MEMORY_MAX = 280 * MIB;

let stack: Stack;
let folder: string;
/** What `npm run release -- --dry-run` leaves. */
let dist: string;
let tarballs: readonly string[];
/** What it prints. */
let said: string;
/** Undefined without a network: then the packages come from their tarballs. */
let registry: Registry | undefined;
beforeAll(async () => {
  stack = await startStack();
  const home = mkdtempSync(join(tmpdir(), 'holdpoint-user-'));
  folder = join(home, 'mine');
  mkdirSync(folder);
  dist = join(home, 'dist');
  const release = join(root, 'infra', 'release', 'release.ts');
  const dryRun = [release, '--dry-run', '--skip-tests', '--out', dist];
  const build = { GITHUB_SERVER_URL: 'https://git.example', GITHUB_REPOSITORY: 'mine/holdpoint' };
  said = (await run(process.execPath, dryRun, { env: { ...process.env, ...build } })).stdout;
  tarballs = globSync('*.tgz', { cwd: dist }).map((name) => join(dist, name));
  // A registry that refuses a package is a failure; a network that is absent is none.
  const offline = await run('npm', ['view', 'zod', 'version', '--fetch-retries=0']).then(
    () => undefined,
    (error: Error) => error.message,
  );
  if (offline === undefined) registry = await startRegistry(join(home, 'registry'), tarballs);
  else console.warn(`without a network the tarballs are installed instead: ${offline}`);
  writeFileSync(join(folder, 'package.json'), MANIFEST);
  const packages =
    registry === undefined ? tarballs : ['@holdpoint/sdk', 'holdpoint', '@holdpoint/contracts'];
  const tools = [
    `typescript@${OLDEST_TYPESCRIPT}`,
    '@types/node@22',
    `node@${OLDEST_NODE}`,
    'zod',
    `esbuild@${ESBUILD}`,
  ];
  await npm('install', '--no-audit', '--no-fund', ...packages, ...tools);
  const guide = filesIn('docs/sdk.md', readFileSync(join(root, 'docs', 'sdk.md'), 'utf8'));
  const { natsSeed } = layout(stack.system.run.credentialsDir);
  const { httpPort } = await stack.system.start('approvals');
  for (const { name, code } of guide.filter(({ name }) =>
    /^(greet|greet-in-memory|worker|start|refund)\.ts$/.test(name),
  ))
    writeFileSync(
      join(folder, name),
      code
        .replaceAll('nats://127.0.0.1:4222', stack.system.nats.url)
        .replaceAll('http://127.0.0.1:8702', `http://127.0.0.1:${String(httpPort)}`)
        .replaceAll('.holdpoint/data/credentials/nats/worker.seed', natsSeed('worker'))
        .replaceAll('.holdpoint/data/credentials/nats/operator.seed', natsSeed('operator')),
    );
}, 600_000);
afterAll(async () => {
  await registry?.stop();
  rmSync(dirname(folder), { recursive: true, force: true });
  await stack.stop();
});

const npmIn = (cwd: string, ...args: readonly string[]) =>
  run('npm', args, { cwd, env: registry?.env ?? process.env });
const npm = (...args: readonly string[]) => npmIn(folder, ...args);
const Bill = z.object({ bomFormat: z.string(), components: z.array(z.object({ name: z.string() })) });
const Published = z.object({
  version: z.string(),
  license: z.string(),
  engines: z.unknown(),
  files: z.unknown(),
  publishConfig: z.unknown(),
  repository: z.unknown(),
  exports: z.record(z.string(), z.union([z.string(), z.object({ types: z.string(), default: z.string() })])),
});
const installed = (tool: string): string => join(folder, 'node_modules', '.bin', tool);

/** One minified file, as users deploy it. */
const bundle = async (file: string): Promise<string> => {
  const out = join(folder, file.replace(/\.ts$/, '.bundled.mjs'));
  const options = ['--bundle', '--minify', '--platform=node', '--format=esm', `--outfile=${out}`];
  // The libraries load modules of Node.js by `require`.
  const banner = `import{createRequire}from'node:module';const require=createRequire(import.meta.url);`;
  await run(installed('esbuild'), [join(folder, file), ...options, `--banner:js=${banner}`]);
  return out;
};

const holdpoint = async (...args: readonly string[]): Promise<string> => {
  const files = layout(stack.system.run.credentialsDir);
  const { stdout } = await run(process.execPath, [installed('holdpoint'), ...args], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOLDPOINT_NATS_URL: stack.system.nats.url,
      HOLDPOINT_NATS_SEED_FILE: files.natsSeed('operator'),
      HOLDPOINT_TOKEN_FILE: files.operatorToken,
    },
  });
  return stdout;
};

type CommandLine = (...args: readonly string[]) => Promise<string>;

/** The installed command line in the folder of the user. It must have nothing to complain about. */
const commandLine =
  (env: NodeJS.ProcessEnv): CommandLine =>
  async (...args) => {
    const words = [installed('holdpoint'), ...args];
    const { stdout, stderr } = await run(installed('node'), words, { cwd: folder, env });
    expect(stderr).toBe('');
    return stdout;
  };

/** Runs a program that holds one effect, and approves it. Returns the output. */
const approved = async (
  cli: CommandLine,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly stdout: string; readonly stderr: string }> => {
  const leave = new AbortController();
  const started = run(installed('node'), words, { cwd: folder, env, signal: leave.signal });
  // Its failure is the failure of the steps below.
  started.catch(() => undefined);
  try {
    await decideNext(cli, 'approve');
    return await started;
  } finally {
    leave.abort();
  }
};

/** A start holds a sample, which `approval approve` lets happen once, and prints a link that signs in once. */
const expectFirstSteps = async (cli: CommandLine, printed: string, workspace: string): Promise<void> => {
  expect(printed).toMatch(/^ {2}next +npx holdpoint task submit --workflow sample --goal /m);
  expect(printed).toMatch(/^ {2}hints +`holdpoint …` in any output means: npx holdpoint …$/m);
  const sample = join(workspace, 'sample.txt');
  expect(existsSync(sample)).toBe(false);
  await cli('approval', 'approve', /npx holdpoint approval approve (\S+)/.exec(printed)?.[1] ?? '');
  await untilTrue('the sample is written', () => readFileSync(sample, 'utf8').endsWith('\n'));
  expect(readFileSync(sample, 'utf8').match(/Holdpoint was here/g)).toHaveLength(1);

  const link = new URL(/^ {2}sign in +(http\S+)$/m.exec(printed)?.[1] ?? '');
  const signIn = () =>
    fetch(new URL('/console/sign-in/code', link), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: link.hash.replace('#/sign-in/', '') }),
    });
  const { token } = z.object({ token: z.string() }).parse(await (await signIn()).json());
  const headers = { authorization: `Bearer ${token}` };
  expect(await (await fetch(new URL('/api/v1/whoami', link), { headers })).json()).toMatchObject({
    name: 'operator',
  });
  const again = await signIn();
  expect([again.status, await again.json()]).toEqual([
    401,
    expect.objectContaining({ code: 'APPROVALS_SIGN_IN_REFUSED' }),
  ]);
};

/** The template and the program that `holdpoint init` leaves, against the start in this folder. */
const runInitProgram = async (cli: CommandLine, env: NodeJS.ProcessEnv, workspace: string): Promise<void> => {
  const here = { cwd: folder, env };
  await run('git', ['init', '--quiet'], here);
  await cli('init');
  await cli('workflow', 'validate', 'hello', 'draft', 'approve', 'merge', 'develop');
  const words = [installed('holdpoint'), 'run', 'hello', 'Grace', '--follow'];
  const template = await approved(cli, words, env);
  expect(template.stdout).toMatch(/^Outcome +workflow run succeeded$/m);
  const greeted = (): string => readFileSync(join(workspace, 'hello.txt'), 'utf8');
  expect(greeted()).toMatch(/^[^\n]*\tHello, Grace\.\n$/);

  const program = join('.holdpoint', 'programs', 'hello.mjs');
  const checked = ['--noEmit', '--allowJs', '--module', 'nodenext', '--types', 'node', program];
  await run(installed('tsc'), checked, here);
  const { stdout, stderr } = await approved(cli, [program, 'Ada'], env);
  expect(stdout.trim().split('\n').at(-1)).toBe('Hello, Ada.');
  expect(stderr).toBe('');
  expect(greeted()).toMatch(/^[^\n]*\tHello, Grace\.\n[^\n]*\tHello, Ada\.\n$/);
};

/** The server that `holdpoint dev` finds too. */
const natsServer = async (): Promise<string> => {
  const program = await findNats({ ...natsSearchOf(process.env), docker: false }, silent);
  if (program.kind !== 'binary') throw new Error('this server is no program');
  return program.path;
};

describe('packages in a folder of a new user', () => {
  test('a dry run of a release leaves packages, notes, components and checksums, and makes no tag', async () => {
    const names = readdirSync(dist).filter((name) => !/\.(whl|tar\.gz)$/.test(name));
    expect(names.toSorted()).toEqual([
      'SHA256SUMS',
      `holdpoint-${VERSION}.cdx.json`,
      `holdpoint-${VERSION}.tgz`,
      `holdpoint-contracts-${VERSION}.tgz`,
      `holdpoint-sdk-${VERSION}.tgz`,
      'release-notes.md',
    ]);
    await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: dist });
    const bill = readFileSync(join(dist, `holdpoint-${VERSION}.cdx.json`), 'utf8');
    const { bomFormat, components } = Bill.parse(JSON.parse(bill));
    expect(bomFormat).toBe('CycloneDX');
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['holdpoint', 'pg', 'zod']));
    expect(said).toMatch(new RegExp(`^would tag [0-9a-f]+ as v${VERSION.replaceAll('.', '\\.')}$`, 'm'));
    const { stdout: tags } = await run('git', ['tag', '--list', `v${VERSION}`], { cwd: root });
    expect(said.includes('the tag')).toBe(tags !== '');
  });

  test.each(['holdpoint', '@holdpoint/sdk', '@holdpoint/contracts'])(
    'the package %s is complete: entries with types, source maps, licence, engines and provenance',
    (name) => {
      const home = join(folder, 'node_modules', name);
      const text = readFileSync(join(home, 'package.json'), 'utf8');
      const { exports, ...manifest } = Published.parse(JSON.parse(text));
      expect(text).not.toContain('workspace:');
      expect(manifest).toEqual({
        version: VERSION,
        license: 'Apache-2.0',
        engines: { node: '>=22.18' },
        files: ['dist'],
        publishConfig: { access: 'public', provenance: true },
        repository: {
          type: 'git',
          url: 'git+https://git.example/mine/holdpoint.git',
          directory: expect.any(String) as string,
        },
      });
      const entries = Object.values(exports).flatMap((entry) =>
        typeof entry === 'string' ? entry : [entry.types, entry.default],
      );
      expect(['LICENSE', 'README.md', ...entries].filter((path) => !existsSync(join(home, path)))).toEqual(
        [],
      );
      // Files that only join others have no source.
      const programs = globSync('dist/**/*.js', {
        cwd: home,
        exclude: (path) => path === 'dist/packages/console',
      })
        .filter((path) => /\bfunction\b|=>/.test(readFileSync(join(home, path), 'utf8')))
        .filter((path) => !/\/run\/rolldown-runtime-/.test(path));
      expect(programs.length).toBeGreaterThan(0);
      expect(programs.filter((path) => !existsSync(join(home, `${path}.map`)))).toEqual([]);
    },
  );

  test.each(
    [
      { release: OLDEST_TYPESCRIPT, compiler: () => installed('tsc') },
      { release: 'of this repository', compiler: () => join(root, 'node_modules', '.bin', 'tsc') },
    ].flatMap((each) => ['node16', 'bundler'].map((resolution) => ({ ...each, resolution }))),
  )(
    'the first program type-checks with TypeScript $release, $resolution',
    async ({ compiler, resolution }) => {
      const strict = [
        '--strict',
        '--noEmit',
        '--skipLibCheck',
        'false',
        '--target',
        'es2023',
        '--types',
        'node',
      ];
      const modules = [
        '--module',
        resolution === 'bundler' ? 'esnext' : resolution,
        '--moduleResolution',
        resolution,
      ];
      const files = ['greet-in-memory.ts', 'worker.ts', 'start.ts', 'refund.ts'];
      const args = [...strict, ...modules, '--allowImportingTsExtensions', ...files];
      const { stdout } = await run(compiler(), args, { cwd: folder }).catch(
        ({ stdout: problems }: { readonly stdout: string }) => ({ stdout: problems }),
      );
      expect(stdout).toBe('');
    },
  );

  test.each([
    ['the oldest Node.js', () => installed('node')],
    ['the Node.js of this repository', () => process.execPath],
  ])('the first program runs in memory with %s', async (_, node) => {
    const { stderr } = await run(node(), ['--no-warnings', 'greet-in-memory.ts'], {
      cwd: folder,
    });
    expect(stderr).toBe('');
  });

  test('the SDK and zod alone run the first program in memory', async () => {
    const alone = join(dirname(folder), 'alone');
    mkdirSync(alone);
    writeFileSync(join(alone, 'package.json'), MANIFEST);
    const sdk =
      registry === undefined
        ? tarballs.filter((path) => /-(sdk|contracts)-[^/]+$/.test(path))
        : ['@holdpoint/sdk'];
    await npmIn(alone, 'install', '--no-audit', '--no-fund', ...sdk, 'zod');
    expect(existsSync(join(alone, 'node_modules', 'holdpoint'))).toBe(false);
    for (const name of ['greet.ts', 'greet-in-memory.ts'])
      copyFileSync(join(folder, name), join(alone, name));
    const words = ['--no-warnings', 'greet-in-memory.ts'];
    const { stderr } = await run(installed('node'), words, { cwd: alone });
    expect(stderr).toBe('');
  });

  test('npx runs the command line of this release', async () => {
    const { stdout } = await npm('exec', '--', 'holdpoint', '--version');
    expect(stdout.trim().split('\n').at(-1)).toBe(VERSION);
  });

  test('a workflow has one identity, from source and bundled', async () => {
    writeFileSync(
      join(folder, 'hash.ts'),
      "import { greet } from './greet.ts';\nprocess.stdout.write(greet.hash);\n",
    );
    const hashOf = async (file: string): Promise<string> =>
      (await run(process.execPath, [file], { cwd: folder })).stdout;
    const hash = await hashOf('hash.ts');
    expect(hash).toMatch(/^[0-9a-f]{40}$/);
    expect(await hashOf(await bundle('hash.ts'))).toBe(hash);
  });

  test('holdpoint dev runs everything in the folder, and the program of holdpoint init, with the oldest Node.js', async () => {
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, XDG_STATE_HOME: folder };
    const cli = commandLine(env);
    const workspace = join(folder, '.holdpoint', 'data', 'workspace');
    const dev = spawn(installed('node'), [installed('holdpoint'), 'dev'], { cwd: folder, env });
    let printed = '';
    for (const stream of [dev.stdout, dev.stderr])
      stream.on('data', (text: Buffer) => (printed += String(text)));
    const ended = once(dev, 'close');
    try {
      await until('holdpoint dev is ready', () => {
        if (dev.exitCode !== null) throw new Hopeless(printed);
        return printed.includes('Ctrl-C stops everything') ? true : undefined;
      });
      const findings = await cli('admin', 'doctor');
      expect(findings).toContain(` on Node.js ${OLDEST_NODE}`);
      expect(findings).toMatch(/ 0 errors$/m);
      const bytes = process.platform === 'linux' ? await shareOfTree(dev.pid ?? 0) : undefined;
      expect(bytes).toSatisfy(
        (taken?: number) => taken === undefined || (taken > 100 * MIB && taken < DEV_MEMORY_MAX),
      );
      const page = /console +(\S+)/.exec(printed)?.[1] ?? '';
      expect(await (await fetch(page)).text()).toContain('<title>');
      await expectFirstSteps(cli, printed, workspace);
      await runInitProgram(cli, env, workspace);
    } finally {
      dev.kill('SIGINT');
    }
    expect(await ended).toEqual([0, null]);
  });

  test('a bundled client and a worker from source hold an effect until it is approved', async () => {
    const worker = spawn(installed('node'), ['worker.ts'], { cwd: folder });
    const leave = new AbortController();
    const { signal } = leave;
    const started = run(installed('node'), [await bundle('start.ts')], { cwd: folder, signal });
    // Its failure is the failure of the steps below.
    started.catch(() => undefined);
    try {
      await decideFirstProgram(holdpoint);
      const { stdout } = await started;
      expect(stdout.trim().split('\n').at(-1)).toBe('Good morning, Ada');
    } finally {
      worker.kill('SIGKILL');
      leave.abort();
    }
    const lines = readFileSync(join(stack.system.workspace, 'greetings.txt'), 'utf8').trim().split('\n');
    expect(lines).toEqual([expect.stringMatching(/\tGood morning, Ada$/)]);
  });

  test('a bundled function over HTTP runs once after its approval, without NATS in its bundle', async () => {
    const out = await bundle('refund.ts');
    expect(readFileSync(out, 'utf8')).not.toContain('nats-core');
    const token = readFileSync(layout(stack.system.run.credentialsDir).operatorToken, 'utf8').trim();
    const { stdout } = await approved(holdpoint, [out], {
      PATH: process.env['PATH'],
      HOLDPOINT_TOKEN: token,
    });
    expect(stdout.trim()).toBe('refund:ch_1, 500 cents back to ch_1');
  });

  test('holdpoint provision prepares a deployment, and holdpoint serve runs it, with the oldest Node.js', async () => {
    const home = join(dirname(folder), 'deployment');
    const credentials = join(home, 'credentials');
    const workspace = join(home, 'workspace');
    mkdirSync(workspace, { recursive: true });
    const { PATH } = process.env;
    const ports = await choosePorts();
    const natsUrl = `nats://127.0.0.1:${String(ports.nats)}`;
    const prepare = commandLine({ PATH });
    expect(await prepare('provision', 'credentials', credentials)).toContain(
      `made ${join(credentials, 'operator.token')}\n`,
    );
    const conf = join(home, 'nats-server.conf');
    const address = ['--host', '127.0.0.1', '--port', String(ports.nats)];
    const store = ['--store', join(home, 'jetstream')];
    const printed = await prepare('provision', 'nats', '--credentials', credentials, ...address, ...store);
    writeFileSync(conf, printed);

    const ends: (() => Promise<unknown>)[] = [];
    try {
      const nats = await startChild({
        name: 'nats',
        command: await natsServer(),
        args: ['-c', conf],
        logFile: join(home, 'nats.log'),
      });
      ends.push(() => nats.stop());
      const postgres = await startPostgresServer('local', {
        folder: home,
        runFolder: currentRun().folder,
        credentialsDir: credentials,
      });
      ends.push(postgres.remove);
      const { host, port, user } = postgres.admin;
      const database = `${host}:${String(port)}`;
      const provision = commandLine({
        PATH,
        HOLDPOINT_ADMIN_DATABASE_URL: `postgres://${user}@${database}/postgres`,
        HOLDPOINT_CREDENTIALS: credentials,
      });
      expect(await provision('provision', 'postgres')).toMatch(/^orchestrator: applied 0001_schema/m);
      expect(await provision('provision', 'postgres')).toMatch(/^recovery: up to date$/m);

      const env = {
        PATH,
        HOLDPOINT_NATS_URL: natsUrl,
        HOLDPOINT_NATS_SEED_FILE: join(credentials, 'nats', '{service}.seed'),
        HOLDPOINT_NATS_TOPOLOGY_SEED_FILE: join(credentials, 'nats', 'topology.seed'),
        HOLDPOINT_DATABASE_URL: `postgres://hp_{service}@${database}/holdpoint`,
        HOLDPOINT_DATABASE_PASSWORD_FILE: join(credentials, 'postgres', 'hp_{service}.password'),
        HOLDPOINT_TRUST_FILE: join(credentials, 'trust.json'),
        HOLDPOINT_GRANT_KEY_FILE: join(credentials, 'grant.key.pem'),
        HOLDPOINT_PRINCIPALS_FILE: join(credentials, 'principals.json'),
        HOLDPOINT_WORKSPACE: workspace,
      };
      const serve = (services: string, httpPort: number): ChildProcess => {
        const child = spawn(installed('node'), [installed('holdpoint'), 'serve', services], {
          cwd: home,
          env: { ...env, HOLDPOINT_HTTP_PORT: String(httpPort), HOLDPOINT_LOG_LEVEL: 'warn' },
        });
        let printed = '';
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (text: Buffer) => (printed += String(text)));
        ends.push(async () => {
          const ended = child.exitCode === null ? once(child, 'close') : [child.exitCode, null];
          child.kill('SIGTERM');
          expect([await ended, printed]).toEqual([[0, null], '']);
        });
        return child;
      };
      const processes = [
        { child: serve('orchestrator,approvals,recovery', ports.approvals), httpPort: ports.approvals },
        { child: serve('executor', ports.executor), httpPort: ports.executor },
      ];
      for (const { child, httpPort } of processes)
        await untilTrue('the services are ready', async () => {
          if (child.exitCode !== null) throw new Hopeless(`they ended with ${String(child.exitCode)}`);
          return (await fetch(`http://127.0.0.1:${String(httpPort)}/readyz`)).ok;
        });

      const cli = commandLine({
        PATH,
        HOLDPOINT_NATS_URL: natsUrl,
        HOLDPOINT_NATS_SEED_FILE: join(credentials, 'nats', 'operator.seed'),
        HOLDPOINT_TOKEN_FILE: join(credentials, 'operator.token'),
      });
      const line = ['--input', 'file=served.txt', '--input', 'line=hello'];
      await cli('task', 'submit', '--workflow', 'sample', '--goal', 'Say hello', ...line);
      await decideNext(cli, 'approve');
      const written = join(workspace, 'served.txt');
      await untilTrue('the effect is applied', () => readFileSync(written, 'utf8').endsWith('\n'));
      expect(readFileSync(written, 'utf8').match(/\thello\n/g)).toHaveLength(1);
      expect(await cli('admin', 'doctor')).toMatch(/ 0 errors$/m);
    } finally {
      for (const end of ends.reverse()) await end();
    }
  });
});
