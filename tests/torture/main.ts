import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { dataDirOf, root } from '@holdpoint/infra/local/folders';
import { messageOf, Problem } from '@holdpoint/infra/local/problem';
import { onStdout } from '@holdpoint/infra/local/progress';
import { CommanderError } from 'commander';
import { chooseFaults, createCommand, type Options } from './command-line.ts';
import { startCountedLocal } from './deployment/counted-local.ts';
import type { Deployment } from './deployment/deployment.ts';
import { openCompose } from './deployment/compose.ts';
import { startLocal } from './deployment/local.ts';
import type { Fault } from './faults/fault.ts';
import { FAULTS } from './faults/table.ts';
import { createHistory, readPlan } from './history.ts';
import { makePlan, type Plan, planIn } from './plan.ts';
import { reportText } from './report.ts';
import { torture } from './torture.ts';
import { createFileTarget } from './workload/file-target.ts';
import type { Target } from './workload/target.ts';

const EXIT = { held: 0, broken: 1, failed: 2 } as const;
/** Two, so that one can continue the work of the other. */
const WORKERS = 2;
const { say } = onStdout;

type Prepared = { readonly deployment: Deployment; readonly target: Target };

const prepareLocal = async (
  { effects = 'counter', form, replicas }: Options,
  folder: string,
  seed: string,
): Promise<Prepared> => {
  const around = { env: process.env, progress: onStdout, form, replicas };
  if (effects === 'counter') return startCountedLocal(folder, seed, { ...around, workers: WORKERS });
  const deployment = await startLocal({
    root,
    folder,
    ...around,
    workers: 0,
    beforeServices: () => Promise.resolve({}),
  });
  return { deployment, target: createFileTarget(deployment) };
};

/** The faults that this deployment supports, and the reasons for the others. */
const sortOut = (faults: readonly Fault[], deployment: Deployment) => {
  const found = faults.map((fault) => ({ fault, reason: fault.whyNot(deployment) }));
  return {
    possible: found.flatMap(({ fault, reason }) => (reason === undefined ? [fault] : [])),
    impossible: found.flatMap(({ fault: { name }, reason }) =>
      reason === undefined ? [] : [{ fault: name, times: 0, reason }],
    ),
  };
};

/** Breaking a deployment of the user needs an explicit option. */
const assertMeant = ({ project, yesBreakIt }: Options): void => {
  if (yesBreakIt !== true)
    throw new Problem(
      `this kills, pauses and restarts the containers of the project ${project}, and deletes what JetStream has stored; say --yes-break-it if you mean it`,
    );
};

/** Its effects are lines of a file in its workspace. */
const prepareCompose = async ({ project }: Options): Promise<Prepared> => {
  const deployment = await openCompose(root, project);
  return { deployment, target: createFileTarget(deployment) };
};

const planFor = (
  options: Options,
  seed: string,
  possible: readonly Fault[],
  { instances, workers }: Deployment,
): Plan =>
  options.plan === undefined
    ? makePlan({
        seed,
        durationMs: options.duration,
        everyMs: options.faultEvery,
        faults: possible,
        surroundings: { instances: instances.map(({ name }) => name), workers },
      })
    : planIn(readPlan(options.plan), instances);

/** The terminal and the parent process may both send the same Ctrl-C. */
const SAME_SIGNAL_MS = 1_000;

/** The first Ctrl-C ends the faults, the second one the run. */
const listenForEnd = (stopAll: () => Promise<void>): AbortSignal => {
  const leave = new AbortController();
  let first = Infinity;
  const hear = (): void => {
    if (!leave.signal.aborted) {
      first = performance.now();
      say('\nending early: repairing and checking (Ctrl-C again to leave at once)');
      leave.abort();
    } else if (performance.now() - first > SAME_SIGNAL_MS) {
      say('leaving');
      void stopAll().finally(() => process.exit(EXIT.failed));
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, hear);
  return leave.signal;
};

const run = async (options: Options): Promise<void> => {
  if (options.list === true) {
    for (const { name, group } of FAULTS) say(`${group.padEnd(9)} ${name}`);
    return;
  }
  const chosen = chooseFaults(FAULTS, options.faults);
  if (options.target === 'compose') assertMeant(options);
  const seed = options.seed ?? randomBytes(4).toString('hex');
  const folder = resolve(options.data ?? join(dataDirOf(process.env), 'torture'));
  mkdirSync(folder, { recursive: true });
  const historyFile = resolve(options.history ?? join(folder, 'history.ndjson'));
  mkdirSync(dirname(historyFile), { recursive: true });
  let stopAll = (): Promise<void> => Promise.resolve();
  const leave = listenForEnd(() => stopAll());
  say(`Torturing a Holdpoint (${options.target}, ${options.form}), seed ${seed}. History: ${historyFile}`);
  const { deployment, target } =
    options.target === 'compose' ? await prepareCompose(options) : await prepareLocal(options, folder, seed);
  stopAll = deployment.stop;
  const { possible, impossible } = sortOut(chosen, deployment);
  for (const { fault, reason } of impossible) say(`  no ${fault} here: ${reason}`);
  const history = createHistory(historyFile);
  try {
    const report = await torture({
      deployment,
      target,
      plan: planFor(options, seed, possible, deployment),
      impossible,
      faults: FAULTS,
      history,
      run: randomBytes(3).toString('hex'),
      tasksPerSecond: options.rate,
      settleWithinMs: options.settle,
      say,
      leave,
    });
    for (const line of reportText(report)) say(line);
    if (options.report !== undefined) writeFileSync(options.report, `${JSON.stringify(report, null, 2)}\n`);
    process.exitCode = report.held ? EXIT.held : EXIT.broken;
  } finally {
    history.close();
    await deployment.stop();
  }
};

/** An error that a person can fix is one line. */
const failure = (error: unknown): number => {
  // Commander has printed its own message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.held : EXIT.failed;
  const text = error instanceof Problem || !(error instanceof Error) ? messageOf(error) : error.stack;
  process.stderr.write(`holdpoint: ${String(text)}\n`);
  return EXIT.failed;
};

try {
  await createCommand(run).parseAsync(process.argv);
} catch (error) {
  process.exitCode = failure(error);
}
// Pending timers and sockets must not delay the exit.
process.exit();
