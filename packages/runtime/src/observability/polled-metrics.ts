import { setTimeout as delay } from 'node:timers/promises';
import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from './log.ts';
import type { AddGauge, Exposition, Reading } from './meter.ts';

/** A scrape reads again what is older. */
const FRESH_MS = 5_000;
/** Below the time that a scrape may take: without store or bus, the other metrics are still shown. */
const WAIT_MS = 2_000;

/** Registers metrics by name, and the function that reads all of them at once. A plain number has no labels. */
export type AddPolledMetrics = (
  metrics: Readonly<Record<string, { readonly help: string; readonly labels?: readonly string[] }>>,
  read: () => Promise<Readonly<Record<string, number | readonly Reading[]>>>,
) => void;

export type PolledMetrics = {
  readonly add: AddPolledMetrics;
  /** Reads all of them before they are shown. */
  readonly readBefore: (exposition: Exposition) => Exposition;
  /** Resolves when no reading is under way. */
  readonly idle: () => Promise<void>;
};

/**
 * Metrics that a scrape reads from the store and the bus. A metric that cannot be read is not shown: an old value would look
 * like a current one. `failed` counts the failures.
 */
export const createPolledMetrics = (gauge: AddGauge, failed: () => void, log: Logger): PolledMetrics => {
  const readers: { readonly forget: () => void; readonly read: () => Promise<void> }[] = [];
  let readAt = -Infinity;
  let reading: Promise<void> | undefined;
  const readAll = async (): Promise<void> => {
    readAt = performance.now();
    for (const { forget } of readers) forget();
    // One after another: readings at once would open a connection to the database for each, time and again.
    for (const { read } of readers) await read();
    reading = undefined;
  };
  const readIfOld = async (): Promise<void> => {
    if (performance.now() - readAt >= FRESH_MS) reading ??= readAll();
    await reading;
  };
  return {
    idle: async () => reading,
    readBefore: (exposition) => ({
      ...exposition,
      text: async () => {
        await Promise.race([readIfOld(), delay(WAIT_MS, undefined, { ref: false })]);
        return exposition.text();
      },
    }),
    add: (metrics, read) => {
      let latest: Awaited<ReturnType<typeof read>> = {};
      for (const [name, { help, labels = [] }] of Object.entries(metrics))
        gauge(name, help, labels, () => {
          const value = latest[name] ?? [];
          return typeof value === 'number' ? [{ labels: {}, value }] : value;
        });
      readers.push({
        forget: () => {
          latest = {};
        },
        read: async () => {
          try {
            latest = await read();
          } catch (error) {
            failed();
            log.warn({ ...errorFields(error), metrics: Object.keys(metrics) }, 'metrics could not be read');
          }
        },
      });
    },
  };
};
