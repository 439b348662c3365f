/**
 * Records the samples again: `node services/recovery/testing/record/main.ts [folder[/name]]`. It runs every
 * case and keeps output and exit code, with the paths of this machine replaced. It needs the tools that the
 * cases name.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { homedir, hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Case } from './case.ts';
import { COMPILED } from './compiled.ts';
import { JAVASCRIPT } from './javascript.ts';
import { NETWORK } from './network.ts';
import { PYTHONS } from './python.ts';

const CASES = { ...JAVASCRIPT, ...PYTHONS, ...COMPILED, ...NETWORK };
const PACKAGES = [
  'typescript@7.0.2',
  'vitest@5.1.1',
  'vite@8.3.8',
  'jest@30.5.2',
  'mocha@12.0.3',
  'eslint@10.15.0',
  'prettier@3.10.1',
  'esbuild@0.28.2',
];
const WHEELS = ['pytest==9.2.0', 'mypy==2.4.1', 'ruff==0.17.6'];
const RUN_MAX_MS = 120_000;

const samplesFolder = join(import.meta.dirname, '..', '..', 'samples');
const root = realpathSync(mkdtempSync(join(tmpdir(), 'samples-')));
const tools = join(root, 'tools');
const project = join(root, 'project');
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Answers by the first part of the path. It runs in its own thread, because the cases block the main one. */
const faultyServer = (): void => {
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/503')) response.writeHead(503).end('Service Unavailable');
    else if (request.url === '/index/config.json') response.end('{ "dl": "http://127.0.0.1/dl" }');
    else if (request.url?.startsWith('/reset')) request.socket.destroy();
    else if (!request.url?.startsWith('/silent')) response.writeHead(404).end('Not Found');
  });
  server.listen(4873, '127.0.0.1');
};

const run = (words: readonly string[], env: NodeJS.ProcessEnv, cwd = project): ReturnType<typeof spawnSync> =>
  // The shell joins both streams in the order of the writes.
  spawnSync('sh', ['-c', 'exec "$@" 2>&1', 'sh', ...words], {
    cwd,
    env,
    timeout: RUN_MAX_MS,
    encoding: 'utf8',
  });

/** The caller's environment without settings that change the tools. */
const environment = (more: Case['env']): NodeJS.ProcessEnv => ({
  PATH: `${join(tools, 'venv', 'bin')}:${dirname(process.execPath)}:${String(process.env['PATH'])}`,
  HOME: homedir(),
  LANG: 'C.UTF-8',
  CI: '1',
  NO_COLOR: more?.['FORCE_COLOR'] === undefined ? '1' : undefined,
  npm_config_update_notifier: 'false',
  PYTHONDONTWRITEBYTECODE: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_SSH_COMMAND: 'ssh -o BatchMode=yes -o StrictHostKeyChecking=no -F /dev/null',
  ...more,
});

const install = (): void => {
  mkdirSync(tools, { recursive: true });
  const steps: readonly (readonly string[])[] = [
    ['npm', 'install', '--prefix', tools, '--no-audit', '--no-fund', ...PACKAGES],
    ['python3', '-m', 'venv', join(tools, 'venv')],
    [join(tools, 'venv', 'bin', 'pip'), 'install', '-q', ...WHEELS],
  ];
  for (const words of steps) {
    say(words.slice(0, 2).join(' '));
    const { status, stdout } = run(words, process.env, root);
    if (status !== 0) throw new Error(`${words.join(' ')}: ${String(stdout)}`);
  }
};

/** Names and paths of the machine are private and vary. */
const neutral = (text: string): string =>
  [
    [tools, '/src/project'],
    [project, '/src/project'],
    [root, '/src'],
    [homedir(), '/home/dev'],
    [hostname(), 'builder'],
    ['../tools/', ''],
  ]
    .reduce((rest, [from = '', to = '']) => rest.replaceAll(from, to), text)
    .replace(/ on \d+\.\d+\.\d+\.\d+:53: /g, ' on 192.0.2.53:53: ');

const record = (folder: string, one: Case): void => {
  rmSync(project, { recursive: true, force: true });
  mkdirSync(project, { recursive: true });
  for (const [path, content] of Object.entries(one.files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), content);
  }
  // A project with dependencies has folders of its own.
  if (!one.run.includes('install')) symlinkSync(join(tools, 'node_modules'), join(project, 'node_modules'));
  const env = environment(one.env);
  const version = String(run(one.tool, env).stdout).split('\n')[0]?.trim() ?? '';
  for (const words of one.prepare ?? []) run(words, env);
  const { status, signal, stdout } = run(one.run, env);
  const exit = status ?? (signal === 'SIGKILL' ? 137 : 143);
  const head = [
    `tool: ${neutral(version) || 'sh'}`,
    `command: ${neutral(one.run.join(' ')).replaceAll('\n', ' ')}`,
    `exit: ${String(exit)}`,
    'uses: cap.env.shell.command.run',
    `class: ${one.class}`,
    `recorded: ${new Date().toISOString().slice(0, 10)}`,
  ];
  mkdirSync(join(samplesFolder, folder), { recursive: true });
  writeFileSync(
    join(samplesFolder, folder, `${one.name}.txt`),
    `${head.join('\n')}\n---\n${neutral(String(stdout))}`,
  );
  say(`${folder}/${one.name}: ${String(exit)}${exit === 0 ? ' — it did not fail' : ''}`);
};

const [wanted = ''] = process.argv.slice(2);
const server = new Worker(`const { createServer } = require('node:http'); (${faultyServer.toString()})();`, {
  eval: true,
});
try {
  install();
  for (const [folder, cases] of Object.entries(CASES)) {
    for (const one of cases) if (`${folder}/${one.name}`.startsWith(wanted)) record(folder, one);
  }
} finally {
  await server.terminate();
  rmSync(root, { recursive: true, force: true });
}
