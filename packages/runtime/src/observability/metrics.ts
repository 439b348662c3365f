import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from './log.ts';
import { type AddGauge, createMeter, type Exposition, type Meter } from './meter.ts';
import type { EngineObserver } from '../engine/observer.ts';
import { showProcess } from './process-metrics.ts';
import { traceFields } from '../engine/telemetry.ts';

export type { AddGauge } from './meter.ts';

export type Metrics = {
  readonly exposition: Exposition;
  readonly observer: EngineObserver;
  /** So many aggregates were removed. */
  readonly retired: (aggregates: number) => void;
  /** Figures of the store or of the bus could not be read. */
  readonly sampleFailed: () => void;
  /** The service's own instruments: `holdpoint_` is put before their names. */
  readonly meter: Meter;
  readonly gauge: AddGauge;
  readonly stop: () => void;
};

/** Seconds: from an answer that nobody notices to one that everybody does. */
const LATENCIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const prefixed = ({ counter, histogram, gauge }: Meter): Meter => ({
  counter: (name, ...rest) => counter(`holdpoint_${name}`, ...rest),
  histogram: (name, ...rest) => histogram(`holdpoint_${name}`, ...rest),
  gauge: (name, ...rest) => gauge(`holdpoint_${name}`, ...rest),
});

/** What the engine does, as Prometheus metrics and, where somebody may have to act, as log lines. */
export const createMetrics = (service: string, log: Logger, backlog: () => number): Metrics => {
  const { exposition, ...instruments } = createMeter(service);
  const shown = showProcess(instruments);
  const meter = prefixed(instruments);
  const batchSize = meter.histogram(
    'batch_messages',
    'Messages decided in one transaction',
    [1, 2, 5, 10, 20, 50, 100, 200, 500],
  );
  const batchSeconds = meter.histogram(
    'batch_seconds',
    'From asking for the locks of a batch to its commit',
    LATENCIES,
  );
  const handled = meter.histogram(
    'message_seconds',
    'From the arrival of a message, of the bus or of a caller, to the commit of what it led to, by kind of message',
    LATENCIES,
  );
  const events = meter.counter('events_total', 'Events committed');
  const sent = meter.counter('messages_sent_total', 'Messages written to the outbox');
  const failures = meter.counter('batch_failures_total', 'Transactions that did not commit');
  const again = meter.counter(
    'batch_retries_total',
    'Batches decided again: another was faster (conflict), or the commit was not answered (commit_unknown)',
    [{ reason: 'conflict' }, { reason: 'commit_unknown' }],
  );
  const timerFailures = meter.counter('timer_failures_total', 'Timers whose message could not be decided');
  const unconfirmed = meter.counter('publish_unconfirmed_total', 'Messages the bus did not confirm in time');
  const retired = meter.counter('retired_total', 'Aggregates removed because they ended long ago');
  const unread = meter.counter(
    'samples_failed_total',
    'Figures of the store or of the bus that could not be read',
  );
  meter.gauge(
    'backlog_messages',
    'Messages taken from the bus or the API that wait for a transaction',
    [],
    () => [{ labels: {}, value: backlog() }],
  );
  return {
    exposition,
    meter,
    gauge: meter.gauge,
    stop: shown.stop,
    retired: (aggregates) => retired(aggregates),
    sampleFailed: () => unread(1),
    observer: {
      committed: (messages, write, ms) => {
        batchSize(messages);
        batchSeconds(ms / 1_000);
        events(write.events.length);
        sent(write.outbox.length + write.events.length);
      },
      handled: (kind, ms) => handled(ms / 1_000, { kind }),
      decidedAgain: (reason) => again(1, { reason }),
      batchFailed: (messages, error) => {
        failures(1);
        log.error({ ...errorFields(error), messages }, 'batch failed');
      },
      timerFailed: (aggregate, name, error, trace) => {
        timerFailures(1);
        log.error(
          { ...errorFields(error), ...traceFields(trace), aggregate, name },
          'timer could not be decided',
        );
      },
      tellingFailed: (error) => log.error(errorFields(error), 'committed, but not told'),
      publishUnconfirmed: (messages) => {
        unconfirmed(messages);
        log.warn({ messages }, 'publish not confirmed; the sweeper repeats it');
      },
    },
  };
};
