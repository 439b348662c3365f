import { createHash } from 'node:crypto';
import { streams } from '@holdpoint/contracts/bus/streams';

/**
 * What a gated task costs with 500 in flight, as docs/performance.md has it: milliseconds of CPU time by process, KiB on disk
 * once the log of the database has grown to its size.
 * WAL and messages are from `npm run bench -- --replicas 1` and from the contracts.
 */
export const COST = {
  cpuMs: {
    orchestrator: 0.739,
    approvals: 0.409,
    executor: 0.385,
    recovery: 0.022,
    nats: 0.535,
    postgres: 1.303,
  },
  walKib: 39,
  postgresKib: 16,
  natsKib: 17,
  messages: 13,
} as const;

type Part = keyof typeof COST.cpuMs;
const SERVICES = ['orchestrator', 'approvals', 'executor', 'recovery'] as const satisfies readonly Part[];

/** A process that is busier than this answers late when work comes in bursts. */
const BUSY_MAX = 0.6;
/** Two, so that one may go. */
const PROCESSES_MIN = 2;
/** The most that one database and one bus were seen to do, on two cores that they shared with everything else: rounded down. */
export const CELL_TASKS_PER_SECOND = 500;
const DAY_SECONDS = 86_400;
const KIB = 1_024;
const GIB = KIB ** 3;

export type Size = {
  readonly tasksPerSecond: number;
  /** Holdpoints beside one another, each with a database and a bus of its own. */
  readonly cells: number;
  /** Of the busiest service, in each cell: one core each. */
  readonly processes: number;
  /** In each cell. */
  readonly postgresCores: number;
  readonly natsCores: number;
  readonly walMibPerSecond: number;
  readonly messagesPerSecond: number;
  /** Of all cells together. */
  readonly postgresGibPerDay: number;
  /** How long commands and facts stay on the bus before the streams are full, at the most what they are kept for. */
  readonly streamMinutes: number;
};

const coresOf = (rate: number, part: Part): number =>
  Math.max(1, Math.ceil((rate * COST.cpuMs[part]) / 1_000 / BUSY_MAX));

const [commands, facts] = streams;
const busBytes = commands.maxBytes + facts.maxBytes;

/** How much it takes for so many gated tasks a second. */
export const sizeOf = (tasksPerSecond: number): Size => {
  // With a fifth to spare, because no key spreads evenly: see `busiestShare`.
  const cells =
    tasksPerSecond <= CELL_TASKS_PER_SECOND ? 1 : Math.ceil((tasksPerSecond * 1.2) / CELL_TASKS_PER_SECOND);
  const rate = tasksPerSecond / cells;
  return {
    tasksPerSecond,
    cells,
    processes: Math.max(PROCESSES_MIN, ...SERVICES.map((service) => coresOf(rate, service))),
    postgresCores: coresOf(rate, 'postgres'),
    natsCores: coresOf(rate, 'nats'),
    walMibPerSecond: Math.round(((rate * COST.walKib) / KIB) * 10) / 10,
    messagesPerSecond: Math.round(rate * COST.messages),
    postgresGibPerDay: Math.round((tasksPerSecond * DAY_SECONDS * COST.postgresKib * KIB) / GIB),
    streamMinutes: Math.min(
      commands.maxAgeMs / 60_000,
      Math.round(busBytes / (rate * COST.natsKib * KIB) / 60),
    ),
  };
};

/** The cell of a key: that of a repository, or of a task that has none. */
export const cellOf = (key: string, cells: number): number =>
  createHash('sha256').update(key).digest().readUInt32BE() % cells;

/**
 * How much more than its share the busiest cell gets, when `keys` repositories are as busy as each other (`skew` 0) or the
 * n-th has 1/n^skew of the work of the first. 1 is even.
 */
export const busiestShare = (cells: number, keys: number, skew: number): number => {
  const load = Array.from({ length: cells }, () => 0);
  let all = 0;
  for (let key = 1; key <= keys; key += 1) {
    const work = 1 / key ** skew;
    const cell = cellOf(`repository-${String(key)}`, cells);
    load[cell] = (load[cell] ?? 0) + work;
    all += work;
  }
  return Math.round((Math.max(...load) / (all / cells)) * 100) / 100;
};
