import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from './log.ts';
import type { AddGauge, Reading } from './meter.ts';
import { startPeriodic } from './periodic.ts';

/** The interval of the readings. A scrape gets the latest. */
export const POLL_EVERY_MS = 15_000;

/** Registers metrics by name, and the function that reads all of them at once. A plain number has no labels. */
export type AddPolledMetrics = (
  metrics: Readonly<Record<string, { readonly help: string; readonly labels?: readonly string[] }>>,
  read: () => Promise<Readonly<Record<string, number | readonly Reading[]>>>,
) => void;

export type PolledMetrics = {
  readonly add: AddPolledMetrics;
  /** Reads all of them now. */
  readonly readAll: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/**
 * Metrics that are read from the store and the bus at intervals. A metric that cannot be read is not shown: an old value would
 * look like a current one. `failed` counts the failures.
 */
export const createPolledMetrics = (gauge: AddGauge, failed: () => void, log: Logger): PolledMetrics => {
  const readers: (() => Promise<void>)[] = [];
  const readAll = async (): Promise<void> => {
    // One after another: readings at once would open a connection to the database for each, time and again.
    for (const read of readers) await read();
  };
  const polling = startPeriodic('metrics', POLL_EVERY_MS, readAll, log);
  return {
    readAll,
    stop: () => polling.stop(),
    add: (metrics, read) => {
      let latest: Awaited<ReturnType<typeof read>> = {};
      for (const [name, { help, labels = [] }] of Object.entries(metrics))
        gauge(name, help, labels, () => {
          const value = latest[name] ?? [];
          return typeof value === 'number' ? [{ labels: {}, value }] : value;
        });
      readers.push(async () => {
        try {
          latest = await read();
        } catch (error) {
          latest = {};
          failed();
          log.warn({ ...errorFields(error), metrics: Object.keys(metrics) }, 'metrics could not be read');
        }
      });
    },
  };
};
