import { propagation, SpanKind, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { afterEach, describe, expect, test } from 'vitest';
import { samplerOf } from '../service/trace-sampler.ts';
import { LONG_WAIT_MS, spanParentOf, startDecision, startSpan, traceFields } from './telemetry.ts';

const id = (digit: string): string => digit.repeat(32);
const parentOf = (digit: string, flags = '01'): string => `00-${id(digit)}-${digit.repeat(16)}-${flags}`;
const [A, A_LATER, B] = [parentOf('a'), `00-${id('a')}-${'1'.repeat(16)}-01`, parentOf('b')];

describe('the place of what a message leads to', () => {
  const home = { at: 1_000, trace: A };
  test.each([
    ['the first of its task, with a trace of its sender', B, undefined, 1_000, { parent: B, links: [] }],
    ['the first of its task, without', undefined, undefined, 1_000, { parent: undefined, links: [] }],
    ['from the same trace', A_LATER, home, 2_000, { parent: A_LATER, links: [] }],
    ['from a person with a trace of his own', B, home, 2_000, { parent: A, links: [B] }],
    ['from a person without one', undefined, home, 2_000, { parent: A, links: [] }],
    ['at the end of what is no long wait', undefined, home, 1_000 + LONG_WAIT_MS, { parent: A, links: [] }],
    ['after a long wait, by itself', A_LATER, home, 1_001 + LONG_WAIT_MS, { parent: undefined, links: [A] }],
    [
      'after a long wait, without a trace',
      undefined,
      home,
      1_001 + LONG_WAIT_MS,
      { parent: undefined, links: [A] },
    ],
    ['after a long wait, from elsewhere', B, home, 1_001 + LONG_WAIT_MS, { parent: B, links: [A] }],
    ['of a task that was never traced', B, { at: 1, trace: undefined }, 9e12, { parent: B, links: [] }],
  ])('%s', (_what, incoming, origin, now, place) => {
    expect(spanParentOf(incoming, origin, now)).toEqual(place);
  });
});

describe('without OpenTelemetry', () => {
  test.each([
    ['the trace is handed on as it came', { parent: A, links: [] }, A],
    ['after a long wait it goes on', { parent: undefined, links: [A] }, A],
    ['and there is none where there was none', { parent: undefined, links: [] }, undefined],
  ])('%s', (_what, place, expected) => {
    const span = startSpan('x', place);
    span.end();
    expect(span.trace).toBe(expected);
  });
});

describe('with OpenTelemetry', () => {
  const tracedBy = (sampler: Sampler = new AlwaysOnSampler()): InMemorySpanExporter => {
    const exporter = new InMemorySpanExporter();
    trace.setGlobalTracerProvider(
      new TracerProvider({ sampler, spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
    );
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    return exporter;
  };
  afterEach(() => {
    trace.disable();
    propagation.disable();
  });

  test('results are children of the span of their decision', () => {
    const exporter = tracedBy();
    const first = startDecision('orchestrator', { kind: 'submit' }, { parent: undefined, links: [] });
    first.about({ 'holdpoint.task': 't-1' });
    first.end();
    const second = startDecision('approvals', { kind: 'decide' }, { parent: first.trace, links: [B] });
    second.failed('ERR_FORBIDDEN');
    second.end();
    const [above, below] = exporter.getFinishedSpans();
    expect(above).toMatchObject({ name: 'orchestrator submit', kind: SpanKind.CONSUMER });
    expect(above?.attributes).toEqual({ 'holdpoint.task': 't-1' });
    expect(below?.name).toBe('approvals decide');
    expect(below?.spanContext().traceId).toBe(above?.spanContext().traceId);
    expect(below?.parentSpanContext?.spanId).toBe(above?.spanContext().spanId);
    expect(below?.links.map(({ context }) => context.traceId)).toEqual([id('b')]);
    expect(below?.status).toMatchObject({ message: 'ERR_FORBIDDEN' });
    expect(traceFields(second.trace)).toEqual({ trace_id: above?.spanContext().traceId });
  });

  test.each([
    ['was kept', parentOf('a', '01'), 0, 1],
    ['was not kept', parentOf('a', '00'), 1, 0],
  ])('a trace that goes on after a long wait is kept if the one before %s', (_what, before, ratio, kept) => {
    const exporter = tracedBy(samplerOf('parentbased_traceidratio', ratio));
    const span = startSpan('later', { parent: undefined, links: [before] });
    span.end();
    expect(exporter.getFinishedSpans()).toHaveLength(kept);
    expect(span.trace).not.toContain(id('a'));
    expect(span.trace?.endsWith(kept === 1 ? '-01' : '-00')).toBe(true);
  });

  test('with a ratio of 0 no span is sampled, and the trace is passed on', () => {
    const exporter = tracedBy(samplerOf('parentbased_traceidratio', 0));
    const span = startSpan('x', { parent: undefined, links: [] });
    startSpan('y', { parent: span.trace, links: [] }).end();
    span.end();
    expect(span.trace).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});

test.each([
  ['always_on', 1],
  ['always_off', 0],
  ['traceidratio', 0],
  ['parentbased_always_on', 1],
  ['parentbased_always_off', 0],
  ['parentbased_traceidratio', 0],
] as const)('a new trace under %s with a ratio of 0', (name, kept) => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    sampler: samplerOf(name, 0),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  provider.getTracer('x').startSpan('y').end();
  expect(exporter.getFinishedSpans()).toHaveLength(kept);
});
