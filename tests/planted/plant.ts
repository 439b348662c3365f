// `npm run planted [-- part of a name]...` plants each bug in a copy of the repository and runs the tests
// that must fail. The working tree is only read. Ends with code 1 if a bug survives.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectOf } from '@holdpoint/infra/levels';
import { root } from '@holdpoint/infra/local/folders';
import { findPython } from '../kit/python.ts';
import { type Bug, type Catch, isPython, planted, whyNotPlantable } from './bug.ts';
import { BUGS } from './bugs.ts';
import { type Copy, copyTree } from './copy.ts';
import { installPytest, runPytest } from './run-pytest.ts';
import { patternOf, type Ran, runTests } from './run-tests.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const stopping = new AbortController();

const chosen = (names: readonly string[]): readonly Bug[] => {
  const found = BUGS.filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)));
  const unknown = names.filter((part) => !BUGS.some(({ name }) => name.includes(part)));
  if (unknown.length === 0) return found;
  say(
    `no bug is called ${unknown.join(', ')}; there are:\n${BUGS.map(({ name }) => `  ${name}`).join('\n')}`,
  );
  process.exit(64);
};

/** Bugs that only tests in Python catch are skipped, with the reason, where there is no Python. */
const python = await findPython();
const skipped = ({ name, caughtBy }: Bug): boolean => {
  const isSkipped = python.python === undefined && caughtBy.every(isPython);
  if (isSkipped) say(`skipped, because ${python.reason}: ${name}`);
  return isSkipped;
};
let pytest: string | undefined;

/** Runs the tests of each project in turn, then those in Python. */
const run = async ({ folder }: Copy, all: readonly Catch[]): Promise<Ran> => {
  const wanted = all.filter((each) => !isPython(each));
  const projects = [...new Set(wanted.map(({ file }) => projectOf(file)))];
  const runs: Ran[] = [];
  for (const project of projects) {
    if (stopping.signal.aborted) throw new Error('interrupted');
    runs.push(
      await runTests(
        folder,
        project,
        wanted.filter(({ file }) => projectOf(file) === project),
        stopping.signal,
      ),
    );
  }
  if (wanted.length < all.length) {
    pytest ??= await installPytest(folder, python.python ?? '');
    runs.push(await runPytest(folder, pytest, all.filter(isPython), stopping.signal));
  }
  const problems = runs.flatMap(({ problem }) => problem ?? []);
  return {
    results: runs.flatMap(({ results }) => results),
    problem: problems.length === 0 ? undefined : problems.join('; '),
  };
};

const ranOf = ({ results }: Ran, { file, title }: Catch): Ran['results'] =>
  results.filter((each) => each.file === file && new RegExp(`^${patternOf(title)}`, 's').test(each.title));

const firstLine = (message: string): string => (message.split('\n')[0] ?? '').slice(0, 160);

/** A test that fails without a bug proves nothing. Returns these tests. */
const whatIsRed = async (copy: Copy, bugs: readonly Bug[]): Promise<readonly string[]> => {
  const wanted = bugs.flatMap(({ caughtBy }) => caughtBy);
  const ran = await run(copy, wanted);
  const wrong = wanted.flatMap((test) => {
    const results = ranOf(ran, test);
    const failed = results.find(({ status }) => status === 'failed');
    if (failed !== undefined) return [`${test.file} › ${failed.title}: ${failed.message}`];
    return results.length === 0 ? [`${test.file} › ${test.title}: does not run`] : [];
  });
  return [...new Set([...wrong, ...(ran.problem === undefined ? [] : [ran.problem])])];
};

/** Plants one bug and removes it. True when every listed test failed. */
const plantOne = async (copy: Copy, bug: Bug): Promise<boolean> => {
  const path = join(copy.folder, bug.file);
  const source = await readFile(path, 'utf8');
  say(`${bug.name} (${bug.file})`);
  const started = performance.now();
  try {
    await writeFile(path, planted(source, bug));
    const ran = await run(copy, bug.caughtBy);
    const survived = bug.caughtBy.filter((test) => {
      const failed = ranOf(ran, test).find(({ status }) => status === 'failed');
      const fate = failed === undefined ? 'SURVIVED' : 'caught by';
      say(`  ${fate} ${test.file} › ${failed?.title ?? test.title}`);
      if (failed !== undefined) say(`    ${firstLine(failed.message)}`);
      return failed === undefined;
    });
    if (ran.problem !== undefined) say(`  PROBLEM ${ran.problem.split('\n').slice(0, 3).join(' ')}`);
    say(`  ${((performance.now() - started) / 1_000).toFixed(1)} s`);
    return survived.length === 0;
  } finally {
    await writeFile(path, source);
  }
};

const plantAll = async (copy: Copy, bugs: readonly Bug[]): Promise<number> => {
  const unfit: string[] = [];
  for (const bug of bugs) {
    const why = whyNotPlantable(await readFile(join(copy.folder, bug.file), 'utf8'), bug);
    if (why !== undefined) unfit.push(why);
  }
  if (unfit.length > 0) return (say(`cannot be planted:\n  ${unfit.join('\n  ')}`), 1);
  say('without a bug ...');
  const red = await whatIsRed(copy, bugs);
  if (red.length > 0) return (say(`red without any bug:\n  ${red.join('\n  ')}`), 1);
  const survived: string[] = [];
  for (const bug of bugs) if (!(await plantOne(copy, bug))) survived.push(bug.name);
  say(`${String(bugs.length - survived.length)} of ${String(bugs.length)} bugs caught`);
  for (const name of survived) say(`  SURVIVED ${name}`);
  return survived.length === 0 ? 0 : 1;
};

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());

const bugs = chosen(process.argv.slice(2)).filter((bug) => !skipped(bug));
const copy = await copyTree(root);
try {
  process.exitCode = await plantAll(copy, bugs);
} catch (error) {
  if (!stopping.signal.aborted) throw error;
  say('interrupted');
  process.exitCode = 130;
} finally {
  await copy.remove();
}
