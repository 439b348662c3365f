import { diag, DiagLogLevel, propagation, trace as traces } from '@opentelemetry/api';
import { z } from 'zod';
import { ConfigError } from './config.ts';
import type { Logger } from '../observability/log.ts';

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const url = z.url({ protocol: /^https?$/, error: 'a URL such as http://127.0.0.1:4318' });
/** An empty variable counts as unset, as compose files need it. */
const unlessEmpty = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional());

/** The OpenTelemetry variables that are read here. The exporter reads its own. */
const TracingEnv = z.object({
  OTEL_SDK_DISABLED: unlessEmpty(z.string()),
  OTEL_EXPORTER_OTLP_ENDPOINT: unlessEmpty(url),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: unlessEmpty(url),
  OTEL_TRACES_SAMPLER: unlessEmpty(z.enum(SAMPLERS)),
  OTEL_TRACES_SAMPLER_ARG: unlessEmpty(z.coerce.number().min(0).max(1)),
});

export type TracingSettings = {
  /** The URL of the collector, with its path. */
  readonly url: string;
  readonly sampler: (typeof SAMPLERS)[number];
  /** The share of traces, 0 to 1, for ratio samplers. */
  readonly ratio: number;
};

/** Undefined: no traces are sent. Throws `ConfigError`. */
export const readTracing = (env: NodeJS.ProcessEnv): TracingSettings | undefined => {
  const { success, data, error } = TracingEnv.safeParse(env);
  if (!success)
    throw new ConfigError(
      error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
    );
  const base = data.OTEL_EXPORTER_OTLP_ENDPOINT;
  const target = data.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (base && `${base.replace(/\/$/, '')}/v1/traces`);
  if (target === undefined || data.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined;
  return {
    url: target,
    sampler: data.OTEL_TRACES_SAMPLER ?? 'parentbased_always_on',
    ratio: data.OTEL_TRACES_SAMPLER_ARG ?? 1,
  };
};

/** Spans that wait to be sent: beyond it they are dropped, so that a receiver that is away costs no memory and no time. */
const QUEUED_MAX = 8_192;
const AT_ONCE = 512;
const SEND_EVERY_MS = 2_000;
const SEND_TIMEOUT_MS = 5_000;
/** At the end of the process. */
const FLUSH_WITHIN_MS = 2_000;

export type Tracing = { readonly stop: () => Promise<void> };

/**
 * Sends the spans of this process by OTLP over HTTP. Nothing waits for it: spans are queued in bounded memory,
 * sent in the background, and dropped when no collector accepts them.
 */
export const startTracing = async (
  { url: target, sampler, ratio }: TracingSettings,
  names: { readonly service: string; readonly instance: string },
  log: Logger,
): Promise<Tracing> => {
  // Loaded on demand: a process without tracing does not load it.
  const [
    { BatchSpanProcessor, TracerProvider },
    { OTLPTraceExporter },
    { resourceFromAttributes },
    core,
    { samplerOf },
  ] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/core'),
    import('./trace-sampler.ts'),
  ]);
  const say = (message: string): void => log.warn({ reason: message }, 'traces could not be sent');
  const silent = (): void => undefined;
  diag.setLogger(
    { error: say, warn: silent, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true },
  );
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': `holdpoint-${names.service}`,
      'service.namespace': 'holdpoint',
      'service.instance.id': names.instance,
    }),
    sampler: samplerOf(sampler, ratio),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: target, timeoutMillis: SEND_TIMEOUT_MS }),
        maxQueueSize: QUEUED_MAX,
        maxExportBatchSize: AT_ONCE,
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: SEND_TIMEOUT_MS,
      }),
    ],
  });
  // A program that brings its own, by `--import`, has been there first and stays.
  traces.setGlobalTracerProvider(provider);
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  return {
    stop: async () => {
      const late = new Promise<void>((resolve) => void setTimeout(resolve, FLUSH_WITHIN_MS).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  };
};
