import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { errorFields } from './error-fields.ts';
import type { Logger } from './log.ts';
import type { EngineObserver } from './observer.ts';

export type Metrics = {
  readonly registry: Registry;
  readonly observer: EngineObserver;
  /** So many aggregates were removed. */
  readonly retired: (aggregates: number) => void;
  readonly gauge: AddGauge;
};

/** A figure that is read when somebody asks for it, once for each of its labels. */
export type AddGauge = (
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[],
) => void;

/** What the engine does, as Prometheus metrics and, where somebody may have to act, as log lines. */
export const createMetrics = (service: string, log: Logger, backlog: () => number): Metrics => {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name: `holdpoint_${name}`, help, registers });
  const batchSize = new Histogram({
    name: 'holdpoint_batch_messages',
    help: 'Messages decided in one transaction',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
    registers,
  });
  const events = counter('events_total', 'Events committed');
  const sent = counter('messages_sent_total', 'Messages written to the outbox');
  const failures = counter('batch_failures_total', 'Transactions that did not commit');
  const timerFailures = counter('timer_failures_total', 'Timers whose message could not be decided');
  const unconfirmed = counter('publish_unconfirmed_total', 'Messages the bus did not confirm in time');
  const retired = counter('retired_total', 'Aggregates removed because they ended long ago');
  const waiting = new Gauge({
    name: 'holdpoint_backlog_messages',
    help: 'Messages taken from the bus or the API that wait for a transaction',
    registers: [],
    collect() {
      this.set(backlog());
    },
  });
  registry.registerMetric(waiting);
  const gauge: AddGauge = (name, help, labelNames, read) => {
    const added = new Gauge({
      name: `holdpoint_${name}`,
      help,
      labelNames: [...labelNames],
      registers: [],
      collect() {
        this.reset();
        for (const { labels, value } of read()) this.set(labels, value);
      },
    });
    registry.registerMetric(added);
  };
  return {
    registry,
    gauge,
    retired: (aggregates) => retired.inc(aggregates),
    observer: {
      committed: (messages, write) => {
        batchSize.observe(messages);
        events.inc(write.events.length);
        sent.inc(write.outbox.length + write.events.length);
      },
      batchFailed: (messages, error) => {
        failures.inc();
        log.error({ ...errorFields(error), messages }, 'batch failed');
      },
      timerFailed: (aggregate, name, error) => {
        timerFailures.inc();
        log.error({ ...errorFields(error), aggregate, name }, 'timer could not be decided');
      },
      tellingFailed: (error) => log.error(errorFields(error), 'committed, but not told'),
      publishUnconfirmed: (messages) => {
        unconfirmed.inc(messages);
        log.warn({ messages }, 'publish not confirmed; the sweeper repeats it');
      },
    },
  };
};
