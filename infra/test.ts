import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { LEVELS, type Project, projectOf, REST } from './levels.ts';
import { root } from './local/folders.ts';
import { OUTSIDE_ERRORS } from './outside-errors.ts';
import { add, countReport, filesToRepeat, totalLine, unstableIn, withoutUnstable } from './test-report.ts';
import type { Counted, Failure, Total } from './test-report.ts';

/**
 * `npm run check`, `npm test`, `npm run test:all` and `npm run prove`: each level runs the static checks and some projects
 * of `vitest.config.ts`, or programs of its own. Every level ends with one line, `N passed, N failed`; a check or a program
 * counts as one test.
 */
type Program = {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

const bin = (name: string): string => join(root, 'node_modules', '.bin', name);
const STATIC: readonly Program[] = [
  { name: 'types', script: bin('tsc'), args: ['--noEmit'] },
  // Code for browsers has types of its own.
  { name: 'types of the console', script: bin('tsc'), args: ['--noEmit', '-p', 'packages/console'] },
  { name: 'lint', script: bin('oxlint'), args: [] },
  { name: 'format', script: bin('oxfmt'), args: ['--check', '.'] },
];

const node = (name: string, script: string, ...args: readonly string[]): Program => ({
  name,
  script: process.execPath,
  args: [join(root, script), ...args],
});
const VITEST = 'node_modules/vitest/vitest.mjs';
const FRESH = String(Date.now() % 1e9);
const TORTURE = ['--duration', '10m', '--rate', '20', '--fault-every', '5s'];
/** Fresh seeds and long runs: they find new faults, so they never gate a merge. */
const PROVE: readonly Program[] = [
  node('simulator, fresh seeds', 'tests/simulation/main.ts', '--seeds', '600', '--seed', FRESH),
  node(
    'simulator, two releases',
    'tests/simulation/main.ts',
    '--seeds',
    '200',
    '--held',
    '8',
    '--upgrade',
    '--seed',
    FRESH,
  ),
  {
    ...node('properties, fresh seed', VITEST, 'run', '--project', 'unit', '--project', 'proof'),
    env: { HOLDPOINT_FUZZ_SEED: FRESH },
  },
  {
    ...node('fuzz, fresh seeds', VITEST, 'run', '--project', 'long', 'tests/fuzz'),
    env: { HOLDPOINT_FUZZ_SEED: FRESH, HOLDPOINT_FUZZ_RUNS: '20' },
  },
  {
    ...node('crash points', VITEST, 'run', '--project', 'long', 'tests/crash-points'),
    env: { HOLDPOINT_CRASH_TIMES: '10' },
  },
  node('planted bugs', 'tests/planted/plant.ts'),
  node('measurements, random kills and images', VITEST, 'run', '--project', 'nightly'),
  node('torture', 'tests/torture/main.ts', ...TORTURE),
  node('torture of a core', 'tests/torture/main.ts', '--form', 'core', ...TORTURE),
  node('soak', 'tests/torture/soak/main.ts'),
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

/** In a process group of its own: a Ctrl-C would otherwise reach it twice, and the second one skips the clean-up. */
const run = (
  command: string,
  args: readonly string[],
  extra: Readonly<Record<string, string>> = {},
): Promise<number | null> =>
  new Promise((resolve, reject) => {
    const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
    current = spawn(command, [...args], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
      env: { ...process.env, ...extra, PATH: path },
    });
    current.once('error', reject);
    current.once('close', resolve);
  });

const seconds = (since: number): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`;

const runProgram = async ({ name, script, args, env }: Program): Promise<boolean> => {
  say(`${name} ...`);
  const started = performance.now();
  const code = await run(script, args, env);
  say(`${name}: ${code === 0 ? 'passed' : 'FAILED'} (${seconds(started)})`);
  return code === 0;
};

/** Undefined without a report. */
const runVitest = async (args: readonly string[]): Promise<Counted | undefined> => {
  const scratch = await mkdtemp(join(tmpdir(), 'holdpoint-test-'));
  const report = join(scratch, 'report.json');
  const outside = join(scratch, 'outside');
  try {
    const code = await run(
      process.execPath,
      [
        join(root, VITEST),
        'run',
        '--reporter=default',
        '--reporter=json',
        `--reporter=${join(root, 'infra/outside-errors.ts')}`,
        `--outputFile.json=${report}`,
        ...args,
      ],
      { [OUTSIDE_ERRORS]: outside },
    );
    return countReport(
      JSON.parse(await readFile(report, 'utf8')),
      code,
      Number(await readFile(outside, 'utf8')),
    );
  } catch (error) {
    say(`tests: there is no report (${error instanceof Error ? error.message : String(error)})`);
    return undefined;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};

const LOST: Total = { passed: 0, failed: 1 };

const runTests = async (args: readonly string[]): Promise<Counted | undefined> => {
  say('tests ...');
  const started = performance.now();
  const counted = await runVitest(args);
  say(`tests: ${totalLine(counted?.total ?? LOST)} (${seconds(started)})`);
  return counted;
};

/** Tests of real servers and processes share the machine with other tests. A pure test fails only by its own fault. */
const REPEATED: readonly Project[] = ['adapters', 'quick', 'int', 'e2e'];
const mayRepeat = (file: string): boolean => REPEATED.includes(projectOf(relative(root, file)));
/** For all second runs of a level: continuous integration has a limit of its own. */
const REPEAT_WITHIN_MS = 300_000;

/** Runs a few failed files again, each alone. The failures that do not repeat are unstable. */
const repeatFailed = async (first: Counted): Promise<readonly Failure[]> => {
  const unstable: Failure[] = [];
  const deadline = performance.now() + REPEAT_WITHIN_MS;
  for (const file of filesToRepeat(first, mayRepeat)) {
    const left = deadline - performance.now();
    if (interrupted || left <= 0) break;
    say(`again, alone: ${relative(root, file)}`);
    const timer = setTimeout(() => current?.kill('SIGTERM'), left);
    const second = await runVitest(['--project', projectOf(relative(root, file)), '--maxWorkers=1', file]);
    clearTimeout(timer);
    if (second !== undefined) unstable.push(...unstableIn(first, file, second));
  }
  return unstable;
};

const runStable = async (args: readonly string[]): Promise<Total> => {
  const first = await runTests(args);
  if (first === undefined || interrupted) return first?.total ?? LOST;
  const unstable = await repeatFailed(first);
  for (const { file, title, error } of unstable)
    say(`unstable: ${relative(root, file)} > ${title}\n  ${error}`);
  if (unstable.length > 0) say(`tests: ${String(unstable.length)} unstable: mend each of them`);
  return withoutUnstable(first.total, unstable);
};

/** A level stops at the first static check that fails; the long programs of `prove` all run. */
const runLevel = async (
  name: keyof typeof LEVELS,
  projects: readonly string[],
  programs: readonly Program[],
  args: readonly string[],
) => {
  let total: Total = { passed: 0, failed: 0 };
  for (const program of programs) {
    const passed = await runProgram(program);
    total = add(total, passed ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });
    if (interrupted || (!passed && name !== 'prove')) return total;
  }
  if (projects.length === 0) return total;
  return add(total, await runStable([...projects.flatMap((project) => ['--project', project]), ...args]));
};

const isLevel = (name: string): name is keyof typeof LEVELS => Object.hasOwn(LEVELS, name);
const [wanted = 'test', ...given] = process.argv.slice(2);
if (!isLevel(wanted)) throw new Error(`unknown level ${wanted}: one of ${Object.keys(LEVELS).join(', ')}`);
// `npm run test:all -- --rest`, right after `npm test`, leaves out the part that has just run.
const isRest = wanted === 'all' && given.includes('--rest');
const args = given.filter((arg) => arg !== '--rest');
// With a file or a filter there is no need for the rest.
const isPart = args.some((arg) => !arg.startsWith('--shard'));
// The first shard has the static checks.
const isLaterShard = args.some((arg) => /^--shard=(?!1\/)/.test(arg));
const total = isPart
  ? ((await runTests(args))?.total ?? LOST)
  : await runLevel(
      wanted,
      isRest ? REST : LEVELS[wanted],
      isRest || isLaterShard ? [] : wanted === 'prove' ? PROVE : STATIC,
      args,
    );
say(totalLine(total));
process.exit(interrupted ? 130 : total.failed === 0 ? 0 : 1);
