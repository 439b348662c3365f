import { createHash } from 'node:crypto';
import { streams } from '@holdpoint/contracts/bus/streams';

/**
 * The cost of a gated task with 500 in flight, from docs/performance.md: CPU milliseconds by process, and KiB
 * that stay in PostgreSQL. WAL and messages come from the bench. Streams count messages before compression.
 */
export const COST = {
  cpuMs: {
    orchestrator: 0.535,
    approvals: 0.311,
    executor: 0.276,
    recovery: 0.008,
    nats: 0.394,
    postgres: 0.625,
  },
  walKib: 24,
  postgresKib: 17.1,
  natsKib: 12,
  messages: 10,
} as const;

type Part = keyof typeof COST.cpuMs;
const SERVICES = ['orchestrator', 'approvals', 'executor', 'recovery'] as const satisfies readonly Part[];

/** A busier process answers late under bursts. */
const BUSY_MAX = 0.6;
/** Two, so that one may fail. */
const PROCESSES_MIN = 2;
/** A rate that one database and one bus reached on two shared cores of each measured machine. */
export const CELL_TASKS_PER_SECOND = 500;
const DAY_SECONDS = 86_400;
const KIB = 1_024;
const GIB = KIB ** 3;

export type Size = {
  readonly tasksPerSecond: number;
  /** Separate Holdpoints, each with its own database and bus. */
  readonly cells: number;
  /** Processes of the busiest service in each cell, one core each. */
  readonly processes: number;
  /** In each cell. */
  readonly postgresCores: number;
  readonly natsCores: number;
  readonly walMibPerSecond: number;
  readonly messagesPerSecond: number;
  /** For all cells together. */
  readonly postgresGibPerDay: number;
  /** How long commands and events fit on the bus, up to their retention. */
  readonly streamMinutes: number;
};

const coresOf = (rate: number, part: Part): number =>
  Math.max(1, Math.ceil((rate * COST.cpuMs[part]) / 1_000 / BUSY_MAX));

const filled = streams.filter(({ name }) => name === 'HP_CMD' || name === 'HP_EVT');
const busBytes = filled.reduce((sum, { maxBytes }) => sum + maxBytes, 0);

/** The size for a rate of gated tasks per second. */
export const sizeOf = (tasksPerSecond: number): Size => {
  // Keys spread unevenly, so each cell has 20 % to spare (see `busiestShare`).
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
      Math.min(...filled.map(({ maxAgeMs }) => maxAgeMs)) / 60_000,
      Math.round(busBytes / (rate * COST.natsKib * KIB) / 60),
    ),
  };
};

/** The cell of a repository, or of a task without one. */
export const cellOf = (key: string, cells: number): number =>
  createHash('sha256').update(key).digest().readUInt32BE() % cells;

/**
 * The load of the busiest cell relative to an even share, for `keys` repositories with equal work (`skew` 0)
 * or with 1/n^skew of the first one's work. 1 is even.
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
