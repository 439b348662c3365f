import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { root } from './local/folders.ts';
import { add, countReport, totalLine } from './test-report.ts';
import type { Total } from './test-report.ts';

/** What `npm test` runs: the checks, then every test. Ends with one line, `N passed, N failed`; a check counts as a test. */
type Check = { readonly name: string; readonly program: string; readonly args: readonly string[] };

const checks: readonly Check[] = [
  { name: 'types', program: 'tsc', args: ['--noEmit'] },
  // Code for browsers has types of its own.
  { name: 'types of the console', program: 'tsc', args: ['--noEmit', '-p', 'packages/console'] },
  { name: 'lint', program: 'oxlint', args: [] },
  { name: 'format', program: 'oxfmt', args: ['--check', '.'] },
];

const say = (line: string) => process.stdout.write(`${line}\n`);

let current: ReturnType<typeof spawn> | undefined;
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted = true;
    current?.kill(signal);
  });
}

/** In a process group of its own: a Ctrl-C would otherwise reach it twice, and the second one means "do not clean up". */
const run = (command: string, args: readonly string[]): Promise<number | null> =>
  new Promise((resolve, reject) => {
    const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
    current = spawn(command, [...args], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
      env: { ...process.env, PATH: path },
    });
    current.once('error', reject);
    current.once('close', resolve);
  });

const check = async ({ name, program, args }: Check): Promise<boolean> => {
  say(`${name} ...`);
  const started = performance.now();
  const code = await run(join(root, 'node_modules', '.bin', program), args);
  say(
    `${name}: ${code === 0 ? 'passed' : 'FAILED'} (${((performance.now() - started) / 1_000).toFixed(1)} s)`,
  );
  return code === 0;
};

const runTests = async (args: readonly string[]): Promise<Total> => {
  const scratch = await mkdtemp(join(tmpdir(), 'holdpoint-test-'));
  const report = join(scratch, 'report.json');
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  try {
    say('tests ...');
    const code = await run(process.execPath, [
      vitest,
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...args,
    ]);
    return countReport(JSON.parse(await readFile(report, 'utf8')), code);
  } catch (error) {
    say(`tests: there is no report (${error instanceof Error ? error.message : String(error)})`);
    return { passed: 0, failed: 1 };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};

const runAll = async (args: readonly string[]): Promise<Total> => {
  let passed = 0;
  for (const each of checks) {
    if (!(await check(each))) return { passed, failed: 1 };
    passed += 1;
  }
  return add({ passed, failed: 0 }, await runTests(args));
};

const total = await runAll(process.argv.slice(2));
say(totalLine(total));
process.exit(interrupted ? 130 : total.failed === 0 ? 0 : 1);
