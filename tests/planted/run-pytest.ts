import { execFile, type ExecFileException } from 'node:child_process';
import { join, relative } from 'node:path';
import { environment } from '../kit/python.ts';
import type { Catch } from './bug.ts';
import type { Ran, Result } from './run-tests.ts';

const PACKAGE = join('packages', 'python');
/** A limit for tests that a bug makes hang. */
const WITHIN_MS = 240_000;
/** The exit code of pytest after tests that failed. */
const SOME_FAILED = 1;

/** Installs the tools of the tests. The tests themselves import the source of the copy. */
export const installPytest = (folder: string, python: string): Promise<string> =>
  environment(python, join(folder, PACKAGE, '.venv'), [`${join(folder, PACKAGE)}[dev]`]);

const LINE = /^(?<status>PASSED|FAILED) (?<file>\S+?)::(?<title>\w+)(?:\[.*?\])?(?: - (?<message>.*))?$/gmu;

/** The results in the summary of pytest. All cases of a test have its title. */
export const resultsIn = (summary: string): readonly Result[] =>
  [...summary.matchAll(LINE)].map(({ groups = {} }) => ({
    file: join(PACKAGE, groups['file'] ?? ''),
    title: groups['title'] ?? '',
    status: groups['status'] === 'PASSED' ? 'passed' : 'failed',
    message: groups['message'] ?? '',
  }));

/** Runs exactly these tests of the Python package in a copy of the repository. */
export const runPytest = async (
  folder: string,
  python: string,
  wanted: readonly Catch[],
  stopped: AbortSignal,
): Promise<Ran> => {
  const tests = new Set(wanted.map(({ file, title }) => `${relative(PACKAGE, file)}::${title}`));
  const args = ['-m', 'pytest', '-p', 'no:cacheprovider', '-rpfE', '--tb=line', ...tests];
  const options = {
    cwd: join(folder, PACKAGE),
    env: { ...process.env, PYTHONPATH: 'src', PYTHONDONTWRITEBYTECODE: '1', COLUMNS: '200' },
    timeout: WITHIN_MS,
    killSignal: 'SIGKILL',
    signal: stopped,
  } as const;
  const { error, stdout } = await new Promise<{
    readonly error: ExecFileException | null;
    readonly stdout: string;
  }>((resolve) => void execFile(python, args, options, (error, stdout) => resolve({ error, stdout })));
  const results = resultsIn(stdout);
  if (error === null || (error.code === SOME_FAILED && !/^ERROR tests\//mu.test(stdout)))
    return { results, problem: undefined };
  return { results, problem: `pytest: ${stdout.trim().split('\n').at(-1) ?? ''} ${error.message}` };
};
