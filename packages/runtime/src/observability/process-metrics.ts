import { readdirSync } from 'node:fs';
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import type { Meter } from './meter.ts';

const NANOS = 1e9;
const MICROS = 1e6;
/** Finer steps would wake a process at rest more often than all of its work. */
const RESOLUTION_MS = 100;
const OPEN_FILES = '/proc/self/fd';

/** Open file descriptors, where the system provides them. */
const openFiles = (): readonly { readonly labels: object; readonly value: number }[] => {
  try {
    return [{ labels: {}, value: readdirSync(OPEN_FILES).length }];
  } catch {
    return [];
  }
};

const GC_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

/** Metrics of the process, under the names that Node.js dashboards expect. */
export const registerProcessMetrics = ({ gauge, histogram }: Meter): { readonly stop: () => void } => {
  const one = (name: string, help: string, read: () => number): void =>
    gauge(name, help, [], () => [{ labels: {}, value: read() }]);
  const startedAt = Date.now() / 1_000 - process.uptime();
  one('process_cpu_user_seconds_total', 'CPU time in user mode', () => process.cpuUsage().user / MICROS);
  one('process_cpu_system_seconds_total', 'CPU time in the system', () => process.cpuUsage().system / MICROS);
  one('process_cpu_seconds_total', 'CPU time', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / MICROS;
  });
  one('process_start_time_seconds', 'When the process began, since the epoch', () => startedAt);
  one('process_resident_memory_bytes', 'Memory that is held', () => process.memoryUsage.rss());
  gauge('process_open_fds', 'Files and connections that are open', [], () =>
    openFiles().map(({ value }) => ({ labels: {}, value })),
  );
  one('nodejs_heap_size_total_bytes', 'Heap that is taken', () => process.memoryUsage().heapTotal);
  one('nodejs_heap_size_used_bytes', 'Heap that is used', () => process.memoryUsage().heapUsed);
  one('nodejs_external_memory_bytes', 'Memory of buffers', () => process.memoryUsage().external);
  gauge('nodejs_version_info', 'The version of Node.js', ['version'], () => [
    { labels: { version: process.version }, value: 1 },
  ]);
  const delay = showEventLoop(gauge);
  const collected = histogram(
    'nodejs_gc_duration_seconds',
    'Pauses of garbage collection by kind',
    [0.001, 0.01, 0.1, 1, 2, 5],
  );
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind = 0 } = 'detail' in entry ? (entry.detail as { readonly kind?: number }) : {};
      collected(entry.duration / 1_000, { kind: GC_KINDS[kind] ?? 'other' });
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return {
    stop: () => {
      delay.disable();
      observer.disconnect();
    },
  };
};

/**
 * The delay of the event loop. Each scrape starts a new measurement, so that a bad minute is not hidden by a
 * good day. The first one starts the first: a measurement that is never read would wake a process at rest.
 */
const showEventLoop = (gauge: Meter['gauge']): ReturnType<typeof monitorEventLoopDelay> => {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  // Each sample is the time between two steps.
  const beyondStep = (nanos: number): number => Math.max(0, nanos - (RESOLUTION_MS / 1_000) * NANOS);
  // A scrape reads all of them; the last one resets the measurement.
  const figures: readonly [string, string, () => number][] = [
    ['min', 'least', () => beyondStep(delay.min)],
    ['max', 'most', () => beyondStep(delay.max)],
    ['mean', 'mean', () => beyondStep(delay.mean)],
    ['stddev', 'standard deviation', () => delay.stddev],
    ['p50', 'median', () => beyondStep(delay.percentile(50))],
    ['p90', '90th percentile', () => beyondStep(delay.percentile(90))],
    ['p99', '99th percentile', () => beyondStep(delay.percentile(99))],
  ];
  figures.forEach(([name, help, read], index) => {
    gauge(
      `nodejs_eventloop_lag_${name}_seconds`,
      `Delay of the event loop since the last reading: ${help}`,
      [],
      () => {
        // Nothing was measured yet: the minimum of nothing is not a number.
        const value = delay.count === 0 ? 0 : read() / NANOS;
        if (index === figures.length - 1) {
          delay.reset();
          delay.enable();
        }
        return [{ labels: {}, value }];
      },
    );
  });
  return delay;
};
