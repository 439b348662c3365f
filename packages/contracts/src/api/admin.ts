import { z } from 'zod';
import { KEEP_MAX_DAYS, KEEP_MIN_DAYS } from './retention.ts';
import { SERVICES } from '../bus/subjects.ts';

/** Epoch milliseconds. */
const Time = z.int();

/** Status of one service, for operators. */
export const ServiceInfo = z.object({
  service: z.enum(SERVICES),
  version: z.string(),
  /** The replica that answered. */
  instance: z.string(),
  /** Version of Node.js. */
  node: z.string(),
  startedAt: Time,
  /** Clock of the service's machine. */
  clock: Time,
  database: z.object({
    version: z.string(),
    /** Clock that decides all deadlines. */
    clock: Time,
    /** Size of the whole database on disk. */
    bytes: z.int(),
  }),
  /** The process that decides for this service. The executor has none: each replica decides for its own journal. */
  owner: z
    .object({
      /** The process; left out while no process holds the lease. */
      process: z.string().optional(),
      /** Number of takeovers. */
      epoch: z.int(),
    })
    .optional(),
  migrations: z.object({
    applied: z.array(z.string()),
    /** Migrations of this release that the database lacks. */
    pending: z.array(z.string()),
    /** Migrations of a later release, already applied. */
    unknown: z.array(z.string()),
  }),
});
export type ServiceInfo = z.infer<typeof ServiceInfo>;

/** Counting stops here: larger numbers need not be exact. */
export const COUNTED_MAX = 100_000;

/** A count, up to {@link COUNTED_MAX}. */
const Counted = z.int().min(0);

/** `counts` includes aggregates that ended within this time. */
export const COUNTED_BACK_MS = 3_600_000;

/** Number of aggregates by the status that lists filter by. */
export const Counts = z.object({
  /** Open aggregates. Beyond the limit, only the oldest are counted. */
  open: z.array(z.object({ status: z.string(), count: Counted, oldest: Time })),
  /** Aggregates that ended within the last hour. */
  ended: z.array(z.object({ status: z.string(), count: Counted })),
  /** The numbers are cut off at {@link COUNTED_MAX}. */
  more: z.boolean(),
});
export type Counts = z.infer<typeof Counts>;

/** What a service stores, and for how long. */
export const Retention = z.object({
  /**
   * Days until ended aggregates are purged. A whole number, unless an administrator changed it in the
   * database.
   */
  keepDays: z.number(),
  /** Number of purged aggregates since the database was created. */
  purged: z.int(),
  /** Ended aggregates that are still stored; at most {@link COUNTED_MAX}. */
  ended: Counted,
  /**
   * Ended aggregates older than the retention, or than the requested days. Those that a task may still
   * need are kept.
   */
  due: Counted,
  /** End of the oldest stored aggregate that has ended. */
  oldestEndedAt: Time.optional(),
  tables: z.array(z.object({ name: z.string(), bytes: z.int() })),
});
export type Retention = z.infer<typeof Retention>;

export const RetentionRequest = z.object({
  /** Retention to calculate with; default: the current one. */
  keepDays: z.int().min(KEEP_MIN_DAYS).max(KEEP_MAX_DAYS).optional(),
});
