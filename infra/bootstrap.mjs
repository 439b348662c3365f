// Plain JavaScript for Node.js 20 with nothing installed: installs the workspace, then hands over to the Node.js 24 that
// was installed with it. `npm start`, `npm test` and the others are `node infra/bootstrap.mjs <command> [arguments]`.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const PNPM = '12.21.0';
const NODE_MIN = 20;
const REMINDER_MS = 10_000;

const commands = {
  start: 'infra/local/start.ts',
  demo: 'infra/local/demo.ts',
  check: 'infra/test.ts check',
  test: 'infra/test.ts test',
  'test:all': 'infra/test.ts all',
  prove: 'infra/test.ts prove',
  bench: 'tests/bench/main.ts',
  soak: 'tests/torture/soak/main.ts',
  simulate: 'tests/simulation/main.ts',
  planted: 'tests/planted/plant.ts',
  mutants: 'tests/planted/mutants.ts',
  torture: 'tests/torture/main.ts',
  pack: 'infra/release/pack.ts',
  'test:k8s': 'tests/k8s/cluster/main.ts',
  release: 'infra/release/release.ts',
  holdpoint: 'infra/release/holdpoint.ts',
};
/** Those that vouch for the console, or give it away: without it they fail. */
const releasing = ['test', 'test:all', 'prove', 'pack', 'release'];
/** Those that start services, which serve the console. */
const serving = ['start', 'demo', 'test', 'test:all', 'prove', 'bench', 'soak', 'torture', 'pack', 'release'];

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stampFile = join(root, 'node_modules', '.holdpoint-installed');
const lockFile = join(root, '.holdpoint', 'data', 'installing');
const nodeFile = join(root, 'node_modules', 'node', 'bin', 'node');
// Messages go to stderr, so that the output of the command stays clean.
const say = (line) => process.stderr.write(`${line}\n`);
const fail = (line, code = 1) => {
  say(`holdpoint: ${line}`);
  process.exit(code);
};

const workspaceFolders = () => [
  '.',
  'infra',
  'tests',
  ...['packages', 'services', 'examples'].flatMap((group) =>
    readdirSync(join(root, group)).map((name) => join(group, name)),
  ),
];

/** Everything that decides what an installation would install. */
const fingerprint = () => {
  const hash = createHash('sha256').update(`${PNPM} ${process.platform} ${process.arch}`);
  const manifests = workspaceFolders().map((folder) => join(folder, 'package.json'));
  for (const name of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', ...manifests]) {
    const path = join(root, name);
    if (existsSync(path)) hash.update(`\n${name}\n`).update(readFileSync(path));
  }
  return hash.digest('hex');
};

const isInstalled = (wanted) =>
  existsSync(stampFile) && existsSync(nodeFile) && readFileSync(stampFile, 'utf8').trim() === wanted;

/** What npm tells its scripts about its own configuration would also configure pnpm, and leave out what we need. */
const installEnvironment = () => {
  const env = { ...process.env, CI: 'true', COREPACK_ENABLE_STRICT: '0' };
  delete env.NODE_ENV;
  for (const name of Object.keys(env)) {
    if (
      /^npm_(config_(omit|include|production|only|dev|ignore_scripts|global|dry_run|workspaces?|prefix|offline)|lifecycle_|package_)/i.test(
        name,
      )
    ) {
      delete env[name];
    }
  }
  return env;
};

const ended = (child) =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve({ error }));
    child.once('close', (code, signal) => resolve({ code, signal }));
  });

/** The sentence that says what went wrong, out of all that an installer writes. */
const complaint = (output) => {
  const lines = output.split('\n').map((line) => line.replace(/[\s│×╰─▶]+/gu, ' ').trim());
  const first = lines.findIndex((line) =>
    /ERR_PNPM|npm (ERR!|error)|\bERROR\b|E(ACCES|PERM|NOSPC|ROFS)|^Build failed/.test(line),
  );
  const text = first < 0 ? lines.filter((line) => line !== '').slice(-1) : lines.slice(first, first + 5);
  return (
    text
      .filter((line) => line !== '')
      .join(' ')
      .slice(0, 400) || 'it said nothing'
  );
};

const runInstaller = async () => {
  const started = Date.now();
  const flags = [
    '--frozen-lockfile',
    '--prefer-offline',
    '--prod=false',
    '--config.ignore-scripts=false',
    '--config.confirm-modules-purge=false',
  ];
  const child = spawn('npx', ['-y', `pnpm@${PNPM}`, 'install', ...flags], {
    cwd: root,
    env: installEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const interrupt = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, interrupt);
  say(`installing the workspace (pnpm ${PNPM}) ...`);
  const reminder = setInterval(() => {
    say(`installing the workspace ... ${Math.round((Date.now() - started) / 1_000)} s so far`);
  }, REMINDER_MS);
  const { error, code, signal } = await ended(child);
  clearInterval(reminder);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(name, interrupt);
  if (signal) fail('the installation was interrupted', 128 + constants.signals[signal]);
  if (error)
    fail(error.code === 'ENOENT' ? 'npx is not on PATH: install Node.js together with npm' : error.message);
  if (code !== 0) {
    const log = join(root, '.holdpoint', 'data', 'logs', 'install.log');
    mkdirSync(dirname(log), { recursive: true });
    writeFileSync(log, output);
    fail(`the installation failed: ${complaint(output)} (all of it in ${log})`);
  }
  say(`installed in ${((Date.now() - started) / 1_000).toFixed(1)} s`);
};

const runs = () => spawnSync(nodeFile, ['--version'], { encoding: 'utf8' }).stdout?.trim();

/** The package fetches its program in an install script, and some configurations forbid those. */
const ensureNode = () => {
  if (runs()) return;
  const folder = join(root, 'node_modules', 'node');
  spawnSync(process.execPath, ['installArchSpecificPackage'], {
    cwd: existsSync(folder) ? realpathSync(folder) : root,
    env: installEnvironment(),
    stdio: 'ignore',
  });
  if (!runs()) fail(`Node.js 24 (npm package "node") does not run on ${process.platform} ${process.arch}`);
};

const isAlive = (pid) => {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** Of two commands that find nothing installed one installs, and the other waits for it. */
const takeLock = async () => {
  for (let waited = false; ; waited = true) {
    const draft = `${lockFile}.${process.pid}`;
    writeFileSync(draft, String(process.pid));
    try {
      linkSync(draft, lockFile);
      process.once('exit', () => rmSync(lockFile, { force: true }));
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    } finally {
      rmSync(draft, { force: true });
    }
    const owner = Number(existsSync(lockFile) ? readFileSync(lockFile, 'utf8') : 0);
    if (isAlive(owner)) {
      if (!waited) say(`process ${owner} is installing the workspace; waiting for it ...`);
      await new Promise((resolve) => setTimeout(resolve, 250));
    } else {
      rmSync(lockFile, { force: true });
    }
  }
};

const install = async () => {
  if (isInstalled(fingerprint())) return;
  try {
    for (const folder of [dirname(stampFile), dirname(lockFile)]) mkdirSync(folder, { recursive: true });
    await takeLock();
    if (isInstalled(fingerprint())) return;
    rmSync(stampFile, { force: true });
  } catch (error) {
    fail(`cannot write to ${root} (${error.code}): use a clone of your own`);
  }
  await runInstaller();
  ensureNode();
  writeFileSync(stampFile, `${fingerprint()}\n`);
  rmSync(lockFile, { force: true });
};

/** The console is built of its sources whenever they have changed. Without it everything else works all the same. */
const buildConsole = async () => {
  const builder = join(root, 'packages', 'console', 'build.mjs');
  if (!existsSync(builder)) return;
  const { isBuilt } = await import(pathToFileURL(builder).href);
  if (isBuilt()) return;
  let hasLock = false;
  let problem;
  try {
    mkdirSync(dirname(lockFile), { recursive: true });
    await takeLock();
    hasLock = true;
    if (isBuilt()) return;
    say('building the console ...');
    const { status, stderr } = spawnSync(realpathSync(nodeFile), [builder], { encoding: 'utf8' });
    if (status !== 0) problem = complaint(stripVTControlCharacters(stderr));
  } catch (error) {
    problem = error.message;
  } finally {
    if (hasLock) rmSync(lockFile, { force: true });
  }
  if (problem === undefined) return;
  const text = `the console could not be built: ${problem}`;
  if (releasing.includes(command)) fail(text);
  say(`holdpoint: ${text}`);
};

const handOver = async (script, args) => {
  const proxied = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].some(
    (name) => process.env[name],
  );
  const child = spawn(realpathSync(nodeFile), [join(root, script), ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...(proxied && { NODE_USE_ENV_PROXY: '1' }) },
  });
  // A Ctrl-C reaches both processes, other signals may reach only this one: the command handles them.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const { error, code, signal } = await ended(child);
  if (error) fail(`Node.js 24 could not be started: ${error.message}`);
  process.exit(code ?? 128 + constants.signals[signal]);
};

const [command, ...args] = process.argv.slice(2);
if (Number(process.versions.node.split('.')[0]) < NODE_MIN)
  fail(`Node.js ${NODE_MIN} or later is needed, this is ${process.version}`);
if (process.platform === 'win32') fail('Holdpoint runs on Linux and macOS; on Windows use WSL');
if (!Object.hasOwn(commands, command ?? ''))
  fail(`usage: node infra/bootstrap.mjs ${Object.keys(commands).join('|')} [arguments]`, 64);
await install();
if (serving.includes(command)) await buildConsole();
const [script, ...level] = commands[command].split(' ');
if (!existsSync(join(root, script))) fail(`${script} does not exist`);
await handOver(script, [...level, ...args]);
