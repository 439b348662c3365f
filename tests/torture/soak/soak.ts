import { messageOf } from '@holdpoint/infra/local/problem';
import type { Deployment } from '../deployment/deployment.ts';
import type { Fault } from '../faults/fault.ts';
import type { History } from '../history.ts';
import { holdFor, runPlan } from '../fault-runner.ts';
import type { Plan } from '../plan.ts';
import { createRecorder } from '../bus-recorder.ts';
import { tallyOf } from '../report.ts';
import { settle } from '../wait-until-quiet.ts';
import { createCaller } from '../workload/caller.ts';
import { connectTo } from '../workload/connect.ts';
import { plannedTask, prefixOf } from '../workload/planned.ts';
import type { Target } from '../workload/target.ts';
import { startWorkload } from '../workload/workload.ts';
import { startAttendant } from './paused-task-cancellation.ts';
import { lookAtStreams } from './bus.ts';
import { createSeriesBook, type Seen } from './measurements.ts';
import { clearOut, keepFor } from './retention.ts';
import { watchPace } from './pace.ts';
import { lookAtServers, lookAtServices } from './processes.ts';
import { isBad, assess } from './series.ts';
import type { SoakReport } from './report.ts';
import { lookAtTables } from './tables.ts';

export type SoakOptions = {
  readonly deployment: Deployment;
  readonly target: Target;
  readonly plan: Plan;
  readonly faults: readonly Fault[];
  /** The folder of the deployment identifies its processes. */
  readonly folder: string;
  readonly history: History;
  readonly run: string;
  readonly tasksPerSecond: number;
  readonly everyMs: number;
  readonly keepMs: number;
  readonly settleWithinMs: number;
  readonly say: (line: string) => void;
  readonly leave: AbortSignal;
};

const SAID_EVERY_MS = 60_000;
/** A later decision would hit a cancelled task. */
const DECIDED_WITHIN_MS = 30_000;

/** The history keeps faults and no calls: an hour of calls is too much. */
const faultsOnly = (history: History): History => ({
  ...history,
  add: (entry) => ('call' in entry ? undefined : history.add(entry)),
});

/** Every approver decides soon: long waits would be growth. */
const soakTask: typeof plannedTask = (seed, run, n) => {
  const task = plannedTask(seed, run, n);
  return task.fate === 'late' ? { ...task, fate: 'approve' } : task;
};

/** Applied more than once: too short a retention cannot prevent that. */
const twiceIn = (keys: readonly string[]): readonly string[] =>
  [...Map.groupBy(keys, (key) => key)].flatMap(([key, all]) => (all.length > 1 ? [key] : []));

/** Steady load with faults. Measures all the while and reports growth. */
export const soak = async (options: SoakOptions): Promise<SoakReport> => {
  const { deployment, target, plan, faults, history, run, tasksPerSecond, keepMs, say, leave } = options;
  await keepFor(deployment, keepMs);
  const client = await connectTo(deployment, deployment.people[0]?.token);
  const recorder = await createRecorder(client.connection, new Map());
  const attendant = startAttendant(createCaller(client, faultsOnly(history)), say);
  const workload = await startWorkload({
    seed: plan.seed,
    run,
    tasksPerSecond,
    deployment,
    target,
    history: faultsOnly(history),
    recorder,
    planned: soakTask,
  });
  const book = createSeriesBook();
  const pace = watchPace(recorder, target, workload.tasks);
  const began = performance.now();
  const seconds = (): number => (performance.now() - began) / 1_000;
  const over = new AbortController();

  /** A measurement that a fault prevents is repeated later. */
  const attempt = (look: Promise<readonly Seen[]>): Promise<readonly Seen[]> =>
    look.catch((error: unknown) => {
      history.add({ note: `not looked at: ${messageOf(error)}` });
      return [];
    });
  const sample = async (since: number): Promise<void> => {
    const at = seconds();
    const seen = await Promise.all([
      attempt(lookAtServices(deployment)),
      attempt(lookAtServers(options.folder)),
      attempt(lookAtTables(deployment)),
      attempt(lookAtStreams(deployment)),
    ]);
    for (const each of [...seen.flat(), ...pace(at - since)]) book.add(at, each);
  };
  const sampleUntilOver = async (): Promise<void> => {
    let since = 0;
    for (let next = options.everyMs; !over.signal.aborted; next += options.everyMs) {
      await holdFor(began + next - performance.now(), over.signal);
      if (over.signal.aborted) return;
      const at = seconds();
      await sample(since);
      since = at;
    }
  };
  const progress = setInterval(
    () => say(`${(seconds() / 60).toFixed(1)} min: ${String(workload.tasks().length)} tasks submitted`),
    SAID_EVERY_MS,
  );

  try {
    const sampling = sampleUntilOver();
    const faulting = runPlan({
      plan,
      faults,
      deployment,
      recorder,
      history,
      say: () => undefined,
      over: over.signal,
    });
    await holdFor(plan.durationMs, leave);
    const loadedFor = seconds();
    over.abort();
    const tally = await faulting;
    await sampling;
    say('load and faults are over: waiting for the system to come to rest ...');
    await deployment.heal();
    await workload.pause();
    await workload.finish(DECIDED_WITHIN_MS);
    const toRest = () =>
      settle(deployment, { prefix: prefixOf(run), children: [] }, { withinMs: options.settleWithinMs, say });
    const settled = await toRest();
    await attendant.stop();
    const settledAgain = await toRest();
    const left = await clearOut(deployment);
    await target.release();
    const keys = (await target.applications()).map(({ key }) => key);
    const series = book.all().map((each) => ({ ...assess(each, loadedFor), points: each.points }));
    const twice = twiceIn(keys);
    const atRest = settled.afterMs !== undefined && settledAgain.afterMs !== undefined;
    const nothingLeft = left.every(({ overdue, rows }) => overdue === 0 && rows === 0);
    return {
      seed: plan.seed,
      loadedForMs: Math.round(loadedFor * 1_000),
      tasksPerSecond,
      keepMs,
      everyMs: options.everyMs,
      tasks: workload.tasks().length,
      ...tallyOf(tally, []),
      givenUp: attendant.gaveUp(),
      settledAfterMs: settled.afterMs,
      stillThere: [...settled.left, ...settledAgain.left],
      left,
      effects: keys.length,
      twice,
      series,
      held: atRest && nothingLeft && twice.length === 0 && !series.some(isBad),
    };
  } finally {
    clearInterval(progress);
    over.abort();
    await attendant.stop().catch((error: unknown) => say(`the attendant: ${String(error)}`));
    await workload.close();
    await client.close();
  }
};
