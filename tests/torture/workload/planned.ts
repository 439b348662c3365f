import { TaskId } from '@holdpoint/contracts/values/ids';
import { createRandom } from '../random.ts';
import { type GraphPlan, planGraph } from './graph.ts';

/** What the people outside do with a task. */
export const FATES = [
  'approve',
  /** Two people decide differently at the same moment. */
  'race',
  'reject',
  'request_changes',
  'cancel_waiting',
  /** Cancelled at the moment at which it is approved. */
  'cancel_racing',
  /** Left until the faults are over, and approved then. */
  'late',
] as const;
export type Fate = (typeof FATES)[number];

const WEIGHTS: Readonly<Record<Fate, number>> = {
  approve: 70,
  race: 5,
  reject: 7,
  request_changes: 2,
  cancel_waiting: 5,
  cancel_racing: 6,
  late: 5,
};
const THINKS_MAX_MS = 2_000;

export type PlannedTask = {
  readonly id: TaskId;
  readonly fate: Fate;
  readonly via: 'api' | 'bus';
  /** What kind of target its effect has. */
  readonly keyed: boolean;
  readonly thinkMs: number;
  /** Submitted once more with other content, which has to be refused. */
  readonly conflicting: boolean;
  /** It has a graph of its own; without one, a workflow that everybody has. */
  readonly graph?: GraphPlan;
  /** Its workflow is a program, which workers run. */
  readonly program?: true;
  /** An agent submits it for somebody, and tries to approve it. */
  readonly agent?: true;
  /** What people decide on it they decide on a page. */
  readonly page?: true;
  /** It is cancelled by a command that came before the task, and is a dead letter by then. */
  readonly letter?: true;
};

/** What the ids of all tasks of a run begin with. */
export const prefixOf = (run: string): string => `torture-${run}-`;

/** The n-th task of a run. `run` keeps the ids of two runs apart; what happens to it depends on the seed alone. */
export const plannedTask = (seed: string, run: string, n: number): PlannedTask => {
  const random = createRandom(`${seed}/task/${String(n)}`);
  return {
    id: TaskId.parse(`${prefixOf(run)}${String(n)}`),
    fate: random.weighted(FATES, (fate) => WEIGHTS[fate]),
    via: random.chance(0.25) ? 'bus' : 'api',
    keyed: random.chance(0.7),
    thinkMs: random.chance(0.5) ? 0 : random.int(0, THINKS_MAX_MS),
    conflicting: random.chance(0.03),
  };
};

/** Every so many seconds one with a graph: it starts some ten programs, which cost more than hundreds of the others. */
const GRAPH_EVERY_SECONDS = 3;
const GRAPH_EVERY_TASKS_MIN = 10;

/** The same, with a graph for some; how many depends on how fast they come. Nobody is asked for who is not there. */
export const plannedWithGraphs = (tasksPerSecond: number, people: number): typeof plannedTask => {
  const every = Math.max(GRAPH_EVERY_TASKS_MIN, Math.round(tasksPerSecond * GRAPH_EVERY_SECONDS));
  return (seed, run, n) => {
    const task = plannedTask(seed, run, n);
    if (n % every !== 1) return task;
    return {
      ...task,
      keyed: true,
      graph: planGraph(createRandom(`${seed}/graph/${String(n)}`), people, Math.floor(n / every)),
    };
  };
};

/** One of so many tasks is a program. */
const PROGRAM_EVERY_TASKS = 10;
const PROGRAM_TURN = 5;

/** The same, with a program now and then. It is submitted by its name: a version that nobody knows is refused there and then. */
export const plannedWithPrograms =
  (others: typeof plannedTask): typeof plannedTask =>
  (seed, run, n) => {
    const task = others(seed, run, n);
    if (n % PROGRAM_EVERY_TASKS !== PROGRAM_TURN || task.graph !== undefined) return task;
    return { ...task, via: 'api', keyed: true, program: true };
  };

/** One of so many tasks is submitted by an agent; half of all decisions are made on pages. */
const AGENT_EVERY_TASKS = 10;
const AGENT_TURN = 7;

/** The same, with agents and pages among those who submit and decide. */
export const plannedWithPages =
  (others: typeof plannedTask): typeof plannedTask =>
  (seed, run, n) => {
    const task = others(seed, run, n);
    const random = createRandom(`${seed}/page/${String(n)}`);
    const page = random.chance(0.5) ? { page: true as const } : {};
    if (task.graph !== undefined || task.program === true) return { ...task, ...page };
    if (n % AGENT_EVERY_TASKS === AGENT_TURN) return { ...task, ...page, via: 'api', agent: true };
    return { ...task, ...page, ...(task.fate === 'cancel_waiting' && { letter: true as const }) };
  };
