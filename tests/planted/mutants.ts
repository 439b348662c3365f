// `npm run mutants -- services/approvals/src/approval` changes the source of one pure folder, or of one file, in
// a copy of the repository, change by change, and runs the tests of the folder. Ends with code 1 if more changes
// survive than the limit allows.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { root } from '@holdpoint/infra/local/folders';
import { copyTree } from './copy.ts';

/** Installed at the first use: with it, every installation of the workspace would take 100 MB more. */
const STRYKER = '10.1.1';
const PACKAGES = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${STRYKER}`);
/** Below the repository, so that Stryker finds the test runner of the workspace. */
const TOOLS = join(root, '.holdpoint', 'data', 'mutants');
const MODULES = join(TOOLS, 'node_modules', '@stryker-mutator');
/** Percent of the changes that tests must notice. Some changes alter nothing, and some only a text. */
const NOTICED_MIN = 70;

let running: ReturnType<typeof spawn> | undefined;

const run = (command: string, args: readonly string[], cwd: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, [...args], { cwd, stdio: 'inherit' });
    running = child;
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });

const install = async (): Promise<void> => {
  if (existsSync(join(MODULES, 'vitest-runner'))) return;
  await mkdir(TOOLS, { recursive: true });
  await writeFile(join(TOOLS, 'package.json'), '{ "private": true }\n');
  // Without the peers: the test runner is that of the workspace.
  const code = await run(
    'npm',
    ['install', '--legacy-peer-deps', '--no-audit', '--no-fund', ...PACKAGES],
    TOOLS,
  );
  if (code !== 0) throw new Error('npm could not install StrykerJS');
};

const mutate = async (target: string): Promise<number> => {
  const isFile = target.endsWith('.ts');
  const folder = isFile ? dirname(target) : target;
  await install();
  const copy = await copyTree(root);
  try {
    const tests = `{ test: { include: ['${folder}/**/*.test.ts'], testTimeout: 120_000 } }`;
    await writeFile(join(copy.folder, 'mutants.vitest.ts'), `export default ${tests};\n`);
    const config = {
      testRunner: 'vitest',
      plugins: [join(MODULES, 'vitest-runner', 'dist', 'src', 'index.js')],
      mutate: isFile ? [target] : [`${folder}/**/*.ts`, '!**/*.test.ts'],
      vitest: { configFile: 'mutants.vitest.ts', related: false },
      inPlace: true,
      concurrency: 2,
      ignoreStatic: true,
      coverageAnalysis: 'perTest',
      reporters: ['clear-text', 'progress-append-only'],
      clearTextReporter: { reportTests: false, allowColor: false },
      thresholds: { break: NOTICED_MIN },
    };
    await writeFile(join(copy.folder, 'mutants.json'), JSON.stringify(config));
    const main = join(MODULES, 'core', 'bin', 'stryker.js');
    return await run(process.execPath, [main, 'run', 'mutants.json'], copy.folder);
  } finally {
    await copy.remove();
  }
};

// Stryker ends on the same signal; the copy is removed after it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => running?.kill(signal));
const [target] = process.argv.slice(2);
if (target === undefined || !existsSync(join(root, target))) {
  process.stderr.write('name a folder or file, such as services/approvals/src/approval\n');
  process.exit(64);
}
process.exit(await mutate(target));
