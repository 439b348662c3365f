import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import type { Project } from '@holdpoint/infra/levels';
import { z } from 'zod';
import type { Catch } from './bug.ts';

export type Result = {
  readonly file: string;
  readonly title: string;
  readonly status: 'passed' | 'failed';
  readonly message: string;
};

const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({
          title: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});

/** A limit for tests that a bug makes hang. */
const WITHIN_MS: Readonly<Record<Project, number>> = {
  unit: 240_000,
  adapters: 240_000,
  proof: 240_000,
  long: 600_000,
  int: 300_000,
  quick: 300_000,
  e2e: 400_000,
  nightly: 400_000,
};
const STOP_WITHIN_MS = 20_000;

const PLACEHOLDER = /%[sdifjoO#]|\$[\w.]+/g;
const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** A pattern for the titles of a run: placeholders match anything. */
export const patternOf = (title: string): string => `${title.split(PLACEHOLDER).map(escaped).join('.*')}$`;

/** Ends the runner and all its children after the limit. */
const within = (child: ReturnType<typeof spawn>, ms: number): (() => boolean) => {
  let late = false;
  const signal = (name: NodeJS.Signals): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, name);
  };
  const timers = [
    setTimeout(() => {
      late = true;
      signal('SIGTERM');
    }, ms),
    setTimeout(() => signal('SIGKILL'), ms + STOP_WITHIN_MS),
  ];
  return () => {
    for (const timer of timers) clearTimeout(timer);
    return late;
  };
};

export type Ran = { readonly results: readonly Result[]; readonly problem: string | undefined };

const readReport = async (path: string, folder: string): Promise<Ran> => {
  const { testResults } = Report.parse(JSON.parse(await readFile(path, 'utf8')));
  const results = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ title, status, failureMessages }) => ({
        file: relative(folder, name),
        title,
        status: status === 'passed' ? ('passed' as const) : ('failed' as const),
        message: failureMessages?.[0] ?? '',
      })),
  );
  // A file that does not load proves nothing about its tests.
  const broken = testResults.find(
    ({ message = '', assertionResults }) => message !== '' && assertionResults.length === 0,
  );
  return { results, problem: broken && `${relative(folder, broken.name)}: ${broken.message ?? ''}` };
};

/** Runs exactly these tests, all of one project, in a copy of the repository. */
export const runTests = async (
  folder: string,
  project: Project,
  wanted: readonly Catch[],
  stopped: AbortSignal,
): Promise<Ran> => {
  const scratch = await mkdtemp(join(tmpdir(), 'holdpoint-planted-report-'));
  const report = join(scratch, 'report.json');
  const files = [...new Set(wanted.map(({ file }) => file))];
  const titles = wanted.map(({ title }) => patternOf(title)).join('|');
  const vitest = join(folder, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [vitest, 'run', '--project', project, '--reporter=json', `--outputFile.json=${report}`];
  const child = spawn(process.execPath, [...args, '-t', titles, ...files], {
    cwd: folder,
    stdio: 'ignore',
    detached: true,
    env: {
      ...process.env,
      PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
      HOLDPOINT_TEST_WITHIN_SECONDS: '60',
    },
  });
  const isLate = within(child, WITHIN_MS[project]);
  const stop = (): void => void child.kill('SIGTERM');
  stopped.addEventListener('abort', stop);
  try {
    await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (isLate()) return { results: [], problem: `no end within ${String(WITHIN_MS[project] / 1_000)} s` };
    return await readReport(report, folder);
  } catch (error) {
    return { results: [], problem: error instanceof Error ? error.message : String(error) };
  } finally {
    stopped.removeEventListener('abort', stop);
    await rm(scratch, { recursive: true, force: true });
  }
};
