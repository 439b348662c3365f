import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from './log.ts';
import type { AddGauge, Reading } from './meter.ts';
import { startPeriodic } from './periodic.ts';

/** Of figures that have to be asked for: how often. A scrape gets what was read last. */
export const SAMPLE_EVERY_MS = 15_000;

/** Names and helps of the figures, and what reads all of them at once. A plain number has no labels. */
export type AddSample = (
  figures: Readonly<Record<string, { readonly help: string; readonly labels?: readonly string[] }>>,
  read: () => Promise<Readonly<Record<string, number | readonly Reading[]>>>,
) => void;

export type Samples = {
  readonly sample: AddSample;
  /** Reads all of them now. */
  readonly look: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/**
 * Figures of the store and of the bus. What cannot be read is not shown: an old figure would look like a good one. `failed` is told.
 */
export const createSamples = (gauge: AddGauge, failed: () => void, log: Logger): Samples => {
  const readers: (() => Promise<void>)[] = [];
  const look = async (): Promise<void> => {
    await Promise.all(readers.map((read) => read()));
  };
  const looking = startPeriodic('figures', SAMPLE_EVERY_MS, look, log);
  return {
    look,
    stop: () => looking.stop(),
    sample: (figures, read) => {
      let latest: Awaited<ReturnType<typeof read>> = {};
      for (const [name, { help, labels = [] }] of Object.entries(figures))
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
          log.warn({ ...errorFields(error), figures: Object.keys(figures) }, 'figures could not be read');
        }
      });
    },
  };
};
