import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  InstrumentType,
  MeterProvider,
  MetricReader,
} from '@opentelemetry/sdk-metrics';

export type Labels = Readonly<Record<string, string>>;

/** One value of a metric, with its labels. */
export type Reading = { readonly labels: Labels; readonly value: number };

/** A metric that is read at each scrape, once per label set. A name that ends with `_total` only rises. */
export type AddGauge = (
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => readonly Reading[],
) => void;

/** Instruments of one service. Names get no prefix here. */
export type Meter = {
  /** Starts at zero for each label set in `from`, so that rates exist before the first count. */
  readonly counter: (
    name: string,
    help: string,
    from?: readonly Labels[],
  ) => (by: number, labels?: Labels) => void;
  readonly histogram: (
    name: string,
    help: string,
    buckets: readonly number[],
  ) => (value: number, labels?: Labels) => void;
  readonly gauge: AddGauge;
};

/** The metrics of a service in the text format of Prometheus. */
export type Exposition = { readonly contentType: string; readonly text: () => Promise<string> };

/** Metrics are read on demand; nothing is pushed. */
class OnDemand extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

/** A label set that is no longer read, such as a forgotten target, disappears with the next scrape. */
const temporalityOf = (type: InstrumentType): AggregationTemporality =>
  type === InstrumentType.OBSERVABLE_GAUGE ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE;

/** OpenTelemetry instruments. Every line carries the name of the service. */
export const createMeter = (service: string): Meter & { readonly exposition: Exposition } => {
  const reader = new OnDemand({ aggregationTemporalitySelector: temporalityOf });
  const provider = new MeterProvider({ resource: resourceFromAttributes({ service }), readers: [reader] });
  const meter = provider.getMeter('holdpoint');
  const serializer = new PrometheusSerializer(undefined, false, /^service$/, true, true);
  const collect = async (): Promise<string> => {
    const { resourceMetrics, errors } = await reader.collect();
    if (errors.length > 0) throw new AggregateError(errors, 'not every figure could be read');
    return `${serializer.serialize(resourceMetrics)}\n`;
  };
  /** One after another: of two collections at once only the first would have the gauges. */
  let collecting: Promise<unknown> = Promise.resolve();
  return {
    counter: (name, description, from = [{}]) => {
      const counter = meter.createCounter(name, { description });
      for (const labels of from) counter.add(0, labels);
      return (by, labels) => counter.add(by, labels);
    },
    histogram: (name, description, buckets) => {
      const histogram = meter.createHistogram(name, {
        description,
        advice: { explicitBucketBoundaries: [...buckets] },
      });
      return (value, labels) => histogram.record(value, labels);
    },
    gauge: (name, description, _labelNames, read) => {
      const rises = name.endsWith('_total');
      const observed = rises
        ? meter.createObservableCounter(name, { description })
        : meter.createObservableGauge(name, { description });
      observed.addCallback((result) => {
        for (const { labels, value } of read()) result.observe(value, labels);
      });
    },
    exposition: {
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      text: () => {
        const text = collecting.then(collect, collect);
        collecting = text;
        return text;
      },
    },
  };
};
