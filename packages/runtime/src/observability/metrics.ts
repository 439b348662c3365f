import type { ErrorCode } from '@holdpoint/contracts/values/errors';
import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from './log.ts';
import { type AddGauge, createMeter, type Exposition, type Meter } from './meter.ts';
import type { EngineObserver } from '../engine/observer.ts';
import { registerProcessMetrics } from './process-metrics.ts';
import { traceFields } from '../engine/telemetry.ts';

export type { AddGauge } from './meter.ts';

export type Metrics = {
  readonly exposition: Exposition;
  readonly observer: EngineObserver;
  /** Counts purged aggregates. */
  readonly purged: (aggregates: number) => void;
  /** Counts a failed reading of polled metrics. */
  readonly pollFailed: () => void;
  /** Shows how many messages wait in the engine. */
  readonly showBacklog: (read: () => number) => void;
  /** The instruments of the service. Their names get the prefix `holdpoint_`. */
  readonly meter: Meter;
  readonly gauge: AddGauge;
  readonly stop: () => void;
};

const SEAL_CODES: readonly ErrorCode[] = [
  'SEAL_MISSING',
  'SEAL_INVALID',
  'SEAL_KEY_UNKNOWN',
  'SEAL_KEY_REVOKED',
  'SEAL_SENDER_NOT_ALLOWED',
];

/** In seconds. */
const LATENCIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const prefixed = ({ counter, histogram, gauge }: Meter): Meter => ({
  counter: (name, ...rest) => counter(`holdpoint_${name}`, ...rest),
  histogram: (name, ...rest) => histogram(`holdpoint_${name}`, ...rest),
  gauge: (name, ...rest) => gauge(`holdpoint_${name}`, ...rest),
});

/** The activity of the engine as Prometheus metrics; failures also as log lines. */
export const createMetrics = (
  service: string,
  log: Logger,
  /** Also those of the process: of several services in one process, one shows them. */
  showsProcess = true,
): Metrics => {
  const { exposition, ...instruments } = createMeter(service);
  const shown = showsProcess ? registerProcessMetrics(instruments) : undefined;
  const meter = prefixed(instruments);
  const batchSize = meter.histogram(
    'batch_messages',
    'Messages decided in one transaction',
    [1, 2, 5, 10, 20, 50, 100, 200, 500],
  );
  const batchSeconds = meter.histogram(
    'batch_seconds',
    'Time from requesting the locks of a batch to its commit',
    LATENCIES,
  );
  const handled = meter.histogram(
    'message_seconds',
    'Time from the arrival of a message to the commit of its decision, by kind of message',
    LATENCIES,
  );
  const events = meter.counter('events_total', 'Events committed');
  const sent = meter.counter('messages_sent_total', 'Messages written to the outbox');
  const failures = meter.counter('batch_failures_total', 'Transactions that did not commit');
  const again = meter.counter(
    'batch_retries_total',
    'Batches decided again: another transaction was faster (conflict), or the commit was not answered (commit_unknown)',
    [{ reason: 'conflict' }, { reason: 'commit_unknown' }],
  );
  const timerFailures = meter.counter('timer_failures_total', 'Timers that could not be decided');
  const unconfirmed = meter.counter(
    'publish_unconfirmed_total',
    'Messages that the bus did not confirm in time',
  );
  const purged = meter.counter('purged_total', 'Aggregates purged after their retention');
  const seals = meter.counter(
    'seals_refused_total',
    'Messages that became dead letters because no allowed service has sealed them',
    SEAL_CODES.map((code) => ({ code })),
  );
  const unread = meter.counter(
    'metric_reads_failed_total',
    'Failed readings of the store or of the bus for metrics',
  );
  return {
    exposition,
    meter,
    gauge: meter.gauge,
    stop: () => shown?.stop(),
    purged: (aggregates) => purged(aggregates),
    pollFailed: () => unread(1),
    showBacklog: (read) =>
      meter.gauge('backlog_messages', 'Messages that wait for a transaction', [], () => [
        { labels: {}, value: read() },
      ]),
    observer: {
      committed: (messages, write, ms) => {
        batchSize(messages);
        batchSeconds(ms / 1_000);
        events(write.events.length);
        sent(write.outbox.length + write.announced.length);
      },
      handled: (kind, ms) => handled(ms / 1_000, { kind }),
      retried: (reason) => again(1, { reason }),
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
      sealRefused: (code) => seals(1, { code }),
      callbackFailed: (error) => log.error(errorFields(error), 'a callback after a commit failed'),
      publishUnconfirmed: (messages) => {
        unconfirmed(messages);
        log.warn({ messages }, 'publish not confirmed; it will be repeated');
      },
    },
  };
};
