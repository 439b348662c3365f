import { poll } from '@holdpoint/infra/local/poll';
import type { NatsConnection } from '@nats-io/transport-node';
import { held } from './checks/verdicts.ts';
import type { Deployment } from './deployment/deployment.ts';
import { readSecrets } from './evidence/secrets.ts';
import type { Fault } from './faults/fault.ts';
import { checkRun } from './check-run.ts';
import type { History } from './history.ts';
import { holdFor, runPlan } from './fault-runner.ts';
import type { Plan } from './plan.ts';
import { createRecorder, type Recorder } from './bus-recorder.ts';
import { type Report, tallyOf } from './report.ts';
import { settle } from './wait-until-quiet.ts';
import { watchUsage } from './peak-usage.ts';
import { type ConsoleUsers, startConsoleUsers } from './pages/console-users.ts';
import { attacksIn } from './evidence/attacks.ts';
import { gatherLetters, gatherUnresolved } from './evidence/dead-letters.ts';
import { connectTo } from './workload/connect.ts';
import {
  plannedTask,
  plannedWithGraphs,
  plannedWithPages,
  plannedWithPrograms,
  prefixOf,
} from './workload/planned.ts';
import { childOf } from './workload/program.ts';
import type { Target } from './workload/target.ts';
import { startWorkload, type Workload } from './workload/workload.ts';

export type TortureOptions = {
  readonly deployment: Deployment;
  readonly target: Target;
  readonly plan: Plan;
  readonly faults: readonly Fault[];
  /** Faults that this deployment cannot have. */
  readonly impossible: Report['skipped'];
  readonly history: History;
  /** Separates the tasks of this run from those of other runs. */
  readonly run: string;
  readonly tasksPerSecond: number;
  readonly settleWithinMs: number;
  readonly say: (line: string) => void;
  /** Aborted by the user: repair, check and end. */
  readonly leave: AbortSignal;
};

const PROGRESS_EVERY_MS = 10_000;
const HEALED_WITHIN_MS = 120_000;
const DECIDED_WITHIN_MS = 120_000;
const CAUGHT_UP_WITHIN_MS = 90_000;

const clock = (ms: number): string => {
  const seconds = Math.floor(ms / 1_000);
  return `${String(Math.floor(seconds / 60)).padStart(2)}:${String(seconds % 60).padStart(2, '0')}`;
};

const listen = async (
  deployment: Deployment,
): Promise<{
  recorder: Recorder;
  connection: NatsConnection;
  close: () => Promise<void>;
  secrets: ReadonlyMap<string, string>;
}> => {
  const secrets = await readSecrets(deployment);
  const client = await connectTo(deployment);
  const { connection } = client;
  return {
    recorder: await createRecorder(connection, secrets),
    connection,
    close: () => client.close(),
    secrets,
  };
};

const phasesOf = async ({ query }: Deployment, prefix: string): Promise<Readonly<Record<string, number>>> => {
  const rows = await query(
    `SELECT status, count(*)::int AS n FROM orchestrator.heads WHERE id LIKE '${prefix}%' GROUP BY status ORDER BY 2 DESC`,
  );
  return Object.fromEntries(rows.map(({ status, n }) => [String(status), Number(n)]));
};

const allReady = async ({ instances, isReady }: Deployment): Promise<true | undefined> => {
  for (const { name } of instances) if (!(await isReady(name))) return undefined;
  return true;
};

/** Runs load and faults until the plan ends or the user aborts. */
const hurt = async (options: TortureOptions, recorder: Recorder, workload: Workload) => {
  const { deployment, plan, faults, history, leave } = options;
  const over = new AbortController();
  const began = performance.now();
  const say = (text: string): void => options.say(`${clock(performance.now() - began)}  ${text}`);
  const progress = setInterval(() => {
    say(`${String(workload.tasks().length)} tasks submitted, ${String(workload.open())} of them in progress`);
  }, PROGRESS_EVERY_MS);
  const faulting = runPlan({ plan, faults, deployment, recorder, history, say, over: over.signal });
  await holdFor(plan.durationMs, leave);
  over.abort();
  const tally = await faulting;
  clearInterval(progress);
  return tally;
};

/** Why the run has no programs, or undefined. */
const whyNoPrograms = ({ deployment, target, plan }: TortureOptions): string | undefined => {
  if (plan.programs === false) return 'the plan wants none';
  if (deployment.workers.length === 0) return 'no workers are started here';
  return target.programs === true ? undefined : 'the target counts no effects of programs';
};

const planning = (options: TortureOptions, crew: ConsoleUsers | undefined): typeof plannedTask => {
  const { target, deployment, tasksPerSecond, say } = options;
  const planned =
    target.graphs === undefined ? plannedTask : plannedWithGraphs(tasksPerSecond, deployment.people.length);
  const reason = whyNoPrograms(options);
  const all = reason === undefined ? plannedWithPrograms(planned) : planned;
  if (reason !== undefined) say(`  no programs among the tasks: ${reason}`);
  if (crew !== undefined) return plannedWithPages(all);
  say('  no pages and no agents: this deployment does not state where it serves the console');
  return all;
};

/** Breaks a deployment under load, repairs it and checks every promise. */
export const torture = async (options: TortureOptions): Promise<Report> => {
  const { deployment, target, plan, history, run, tasksPerSecond, settleWithinMs, say } = options;
  const prefix = prefixOf(run);
  history.add({ plan });
  const { recorder, close, secrets, connection } = await listen(deployment);
  const users = await startConsoleUsers(deployment, plan.seed, history);
  const workload = await startWorkload({
    seed: plan.seed,
    run,
    tasksPerSecond,
    deployment,
    target,
    history,
    recorder,
    planned: planning(options, users),
    users,
  });
  const pages = users?.watch(workload.tasks);
  const usage = watchUsage(deployment);
  try {
    const tally = await hurt(options, recorder, workload);
    say('faults are over: repairing ...');
    history.add({ note: 'no more faults' });
    await deployment.heal();
    await poll(() => allReady(deployment), {
      timeoutMs: HEALED_WITHIN_MS,
      everyMs: 500,
      what: 'everything is ready again',
    }).catch((error: unknown) => say(String(error)));
    await workload.pause();
    say(`waiting until ${String(workload.open())} open decisions are made and everything has settled ...`);
    await workload.finish(DECIDED_WITHIN_MS);
    const children = workload.tasks().flatMap(({ id, program }) => (program === true ? [childOf(id)] : []));
    const settled = await settle(deployment, { prefix, children }, { withinMs: settleWithinMs, say });
    await users?.dropOne(connection, run);
    await users?.stop();
    await pages?.finish(CAUGHT_UP_WITHIN_MS);
    say('checking ...');
    const peaks = await usage.stop();
    const verdicts = await checkRun({
      deployment,
      target,
      planned: workload.tasks(),
      operations: history.operations(),
      recorder,
      secrets:
        users === undefined ? secrets : new Map([...secrets, ['token of the agent', users.agent.secret]]),
      feeds: pages?.feeds() ?? [],
      letters: await gatherUnresolved(connection),
      settledLetters: await gatherLetters(connection, history.operations()),
      attacks: attacksIn(history.nemesis()),
      pages: users !== undefined,
      prefix,
      peaks,
      settled,
    });
    return {
      seed: plan.seed,
      target: deployment.kind,
      durationMs: plan.durationMs,
      tasksPerSecond,
      tasks: workload.tasks().length,
      phases: await phasesOf(deployment, prefix),
      settledAfterMs: settled.afterMs,
      ...tallyOf(tally, options.impossible),
      ends: deployment.ended().length,
      history: history.file,
      verdicts,
      held: verdicts.every(held),
    };
  } finally {
    await usage.stop();
    await pages?.stop();
    await users?.stop();
    await workload.close();
    await close();
  }
};
