import { TaskId } from '@holdpoint/contracts/values/ids';
import { createRandom } from '../random.ts';
import { type GraphPlan, planGraph } from './graph.ts';

/** What the approvers do with a task. */
export const FATES = [
  'approve',
  /** Two approvers decide differently at the same moment. */
  'race',
  'reject',
  'request_changes',
  'cancel_waiting',
  /** Cancelled at the moment of its approval. */
  'cancel_racing',
  /** Approved only after the faults. */
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
  readonly keyed: boolean;
  readonly thinkMs: number;
  /** Submitted again with other content, which must be refused. */
  readonly conflicting: boolean;
  /** A graph of its own. Without one it uses a shared workflow. */
  readonly graph?: GraphPlan;
  /** Its workflow is a program. */
  readonly program?: true;
  /** A claimant carries out its effect. */
  readonly claimed?: true;
  /** An agent submits it and tries to approve it. */
  readonly agent?: true;
  /** Decisions are made on a console page. */
  readonly page?: true;
  /** A dead letter of an early cancellation cancels it. */
  readonly letter?: true;
};

/** The prefix of all task ids of a run. */
export const prefixOf = (run: string): string => `torture-${run}-`;

/** The n-th task. Its fate follows from the seed alone; `run` only separates ids. */
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

/** A graph starts some ten processes and costs more than hundreds of other tasks. */
const GRAPH_EVERY_SECONDS = 3;
const GRAPH_EVERY_TASKS_MIN = 10;

/** Adds graphs at a rate per second, with no more approvers than exist. */
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

const PROGRAM_EVERY_TASKS = 10;
const PROGRAM_TURN = 5;
const CLAIMED_TURN = 3;

/** Adds programs and effects of claimants. A program is submitted by name: an unknown version would be refused. */
export const plannedWithPrograms =
  (others: typeof plannedTask): typeof plannedTask =>
  (seed, run, n) => {
    const task = others(seed, run, n);
    if (task.graph !== undefined) return task;
    if (n % PROGRAM_EVERY_TASKS === CLAIMED_TURN) return { ...task, claimed: true };
    if (n % PROGRAM_EVERY_TASKS !== PROGRAM_TURN) return task;
    return { ...task, via: 'api', keyed: true, program: true };
  };

/** Half of all decisions are made on pages. */
const AGENT_EVERY_TASKS = 10;
const AGENT_TURN = 7;

/** Adds agents and pages. */
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
