import { z } from 'zod';
import { KEEP_MAX_DAYS, KEEP_MIN_DAYS } from './retention.ts';
import { SERVICES } from '../bus/subjects.ts';

/** Epoch milliseconds. */
const Time = z.int();

/** What a service says of itself, for whoever looks after it. */
export const ServiceInfo = z.object({
  service: z.enum(SERVICES),
  version: z.string(),
  /** Which process has answered: one of the replicas. */
  instance: z.string(),
  /** Of Node.js. */
  node: z.string(),
  startedAt: Time,
  /** The clock of its machine. */
  clock: Time,
  database: z.object({
    version: z.string(),
    /** The clock that every deadline goes by. */
    clock: Time,
    /** Of the whole database, on disk. */
    bytes: z.int(),
  }),
  migrations: z.object({
    applied: z.array(z.string()),
    /** This release brings them, and the database has not had them yet. */
    pending: z.array(z.string()),
    /** The database has had them, and this release does not know them: a later one has been here. */
    unknown: z.array(z.string()),
  }),
});
export type ServiceInfo = z.infer<typeof ServiceInfo>;

/** Nothing is counted beyond this: so many are looked at in a moment, and more are more. */
export const COUNTED_MAX = 100_000;

/** How many there are, up to {@link COUNTED_MAX}. */
const Counted = z.int().min(0);

/** So far back `counts` looks for what has ended. */
export const COUNTED_BACK_MS = 3_600_000;

/** How much of what there is, by the word that lists select it by. */
export const Counts = z.object({
  /** What has not ended; of more than are counted, the oldest. */
  open: z.array(z.object({ status: z.string(), count: Counted, oldest: Time })),
  /** What has ended within the last hour. */
  ended: z.array(z.object({ status: z.string(), count: Counted })),
  /** There is more than is counted. */
  more: z.boolean(),
});
export type Counts = z.infer<typeof Counts>;

/** What a service keeps, and for how long. */
export const Retention = z.object({
  /** What has ended is kept for so long. Whole days, unless an administrator has set something else. */
  keepDays: z.number(),
  /** How much was removed since the database was made. */
  purged: z.int(),
  /** What has ended and is still there; at the most {@link COUNTED_MAX}. */
  ended: Counted,
  /** Of it, what ended longer ago than asked for, or than is kept. What a task may still need stays all the same. */
  due: Counted,
  /** When the oldest of what has ended did so. */
  oldestEndedAt: Time.optional(),
  tables: z.array(z.object({ name: z.string(), bytes: z.int() })),
});
export type Retention = z.infer<typeof Retention>;

export const RetentionRequest = z.object({
  /** As if it were kept for so many days; for as long as it is kept, when left out. */
  keepDays: z.int().min(KEEP_MIN_DAYS).max(KEEP_MAX_DAYS).optional(),
});
