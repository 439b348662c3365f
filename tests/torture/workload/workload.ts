import type { Deployment } from '../deployment/deployment.ts';
import type { ConsoleUsers } from '../pages/console-users.ts';
import type { History } from '../history.ts';
import { holdFor } from '../fault-runner.ts';
import { createRandom } from '../random.ts';
import type { Recorder } from '../bus-recorder.ts';
import { createCaller } from './caller.ts';
import { connectTo } from './connect.ts';
import { createLife } from './task-lifecycle.ts';
import { type PlannedTask, plannedTask, prefixOf } from './planned.ts';
import { childOf } from './program.ts';
import type { Target } from './target.ts';
import { startSweeper } from './leftovers.ts';
import { rollbacksOf } from './agent-failures.ts';
import { createRequested } from './approval-requested.ts';

export type WorkloadOptions = {
  readonly seed: string;
  readonly run: string;
  readonly tasksPerSecond: number;
  readonly deployment: Deployment;
  readonly target: Target;
  readonly history: History;
  readonly recorder: Recorder;
  /** Another way to plan tasks. */
  readonly planned?: typeof plannedTask;
  /** Pages and agents. Without them every user has a terminal. */
  readonly users?: ConsoleUsers | undefined;
};

export type Workload = {
  readonly tasks: () => readonly PlannedTask[];
  /** The number of open tasks. */
  readonly open: () => number;
  /** Stops submitting. */
  readonly pause: () => Promise<void>;
  /** After the faults: decides what was left. Resolves when every client is done, or at the limit. */
  readonly finish: (withinMs: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** A system that lags behind gets no more tasks: retries of the clients would keep it from catching up. */
const WAITING_MAX = 2_000;
/** The poll interval of watchers. */
const LOOK_EVERY_MS = 200;

/** Clients that submit, decide, cancel and read at a fixed rate while the system keeps up. */
export const startWorkload = async (options: WorkloadOptions): Promise<Workload> => {
  const { seed, run, tasksPerSecond, deployment, target, history, recorder, planned = plannedTask } = options;
  const clients = await Promise.all(deployment.people.map(({ token }) => connectTo(deployment, token)));
  const [client] = clients;
  if (client === undefined) throw new Error('the deployment has no user to submit tasks');
  const callers = clients.map((each) => createCaller(each, history));
  const over = new AbortController();
  const noMore = new AbortController();
  let heal = (): void => undefined;
  const healed = new Promise<void>((resolve) => {
    heal = resolve;
  });
  const requested = createRequested(recorder);
  const { live, waiting } = createLife({
    callers,
    connection: client.connection,
    target,
    history,
    requested,
    healed,
    over: over.signal,
    users: options.users,
  });
  const tasks: PlannedTask[] = [];
  const children = new Set<string>();
  const rollbacks = new Set<string>();
  const lives = new Set<Promise<void>>();

  const begin = (): void => {
    const task = planned(seed, run, tasks.length);
    tasks.push(task);
    if (task.program === true) children.add(childOf(task.id));
    if (task.graph !== undefined) for (const id of rollbacksOf(task.id)) rollbacks.add(id);
    const life = live(task)
      .catch((error: unknown) => history.add({ note: `the life of ${task.id} broke off: ${String(error)}` }))
      .finally(() => lives.delete(life));
    lives.add(life);
  };

  const submitAtRate = async (): Promise<void> => {
    let due = 1;
    let looked = performance.now();
    while (!noMore.signal.aborted) {
      while (tasks.length < due) begin();
      await holdFor(1_000 / tasksPerSecond, noMore.signal);
      // By the clock, so that a late tick catches up.
      const now = performance.now();
      if (waiting() < WAITING_MAX) due += ((now - looked) / 1_000) * tasksPerSecond;
      looked = now;
    }
  };

  const look = async (): Promise<void> => {
    const random = createRandom(`${seed}/look`);
    const [caller] = callers;
    while (!noMore.signal.aborted) {
      await holdFor(LOOK_EVERY_MS, noMore.signal);
      const recent = tasks.slice(-1_000);
      if (recent.length === 0) continue;
      const { id } = random.pick(recent);
      await caller?.('watcher', id, 'orchestrator', 'get', { id });
    }
  };

  const working = Promise.all([submitAtRate(), look()]);
  const [firstCaller, ...otherCallers] = callers;
  const sweeper =
    firstCaller &&
    startSweeper(
      [firstCaller, ...otherCallers],
      prefixOf(run),
      history,
      target,
      (task) => children.has(task),
      (task) => rollbacks.has(task),
    );
  return {
    tasks: () => tasks,
    open: () => lives.size,
    pause: async () => {
      noMore.abort();
      await working;
    },
    finish: async (withinMs) => {
      heal();
      await Promise.race([Promise.all(lives), holdFor(withinMs, over.signal)]);
      over.abort();
      await Promise.all(lives);
      sweeper?.takeOver();
    },
    close: async () => {
      over.abort();
      noMore.abort();
      heal();
      await sweeper?.stop();
      await Promise.allSettled(clients.map((each) => each.close()));
    },
  };
};
