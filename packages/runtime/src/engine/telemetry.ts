import {
  type Attributes,
  type Context,
  type Link,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace as traces,
} from '@opentelemetry/api';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';

/** Whoever is registered by then: a tracer that is kept stays with the first. */
const tracer = () => traces.getTracer('holdpoint');

/** What a message finds: the trace that its task has been in, and when that was added to last. Epoch milliseconds. */
export type Origin = { readonly at: number; readonly trace: string | undefined };

/** Under which span something is made, and which others it has to do with. All of them as `traceparent` has it. */
export type Place = { readonly parent: string | undefined; readonly links: readonly string[] };

/**
 * A task that has waited for so long goes on in a trace of its own, with a link to the one before: no backend keeps a trace
 * open for days, and nobody reads one that is a week wide.
 */
export const LONG_WAIT_MS = 6 * 3_600_000;

const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.split('-')[1];

/** A trace, as log lines name it. */
export const traceFields = (traceparent: string | undefined): { readonly trace_id?: string } => {
  const id = traceIdOf(traceparent);
  return id === undefined ? {} : { trace_id: id };
};

/**
 * Whatever has to do with a task stays in its trace, whoever causes it: a person who decides comes with a trace of his own, or
 * with none, and is linked. Only after a long wait a trace ends: then what comes goes on in its own.
 */
export const placeOf = (incoming: string | undefined, origin: Origin | undefined, now: number): Place => {
  const home = origin?.trace;
  if (origin === undefined || home === undefined) return { parent: incoming, links: [] };
  const isSame = traceIdOf(incoming) === traceIdOf(home);
  if (now - origin.at > LONG_WAIT_MS) return { parent: isSame ? undefined : incoming, links: [home] };
  if (isSame) return { parent: incoming, links: [] };
  return { parent: home, links: incoming === undefined ? [] : [incoming] };
};

const contextOf = (traceparent: string | undefined): Context =>
  traceparent === undefined
    ? ROOT_CONTEXT
    : propagation.extract(ROOT_CONTEXT, { [HEADERS.trace]: traceparent });

const linkTo = (traceparent: string): readonly Link[] => {
  const linked = traces.getSpanContext(contextOf(traceparent));
  return linked === undefined ? [] : [{ context: linked }];
};

export type Traced = {
  /** The `traceparent` for what this leads to. */
  readonly trace: string | undefined;
  readonly about: (attributes: Attributes) => void;
  readonly failed: (reason: string) => void;
  readonly end: () => void;
};

/**
 * A span at its place, and the `traceparent` for what it leads to. Without OpenTelemetry, see `tracing.ts`, no span is made, and
 * the trace is handed on as it came.
 */
export const startSpan = (
  name: string,
  { parent, links }: Place,
  attributes: Attributes = {},
  kind: SpanKind = SpanKind.INTERNAL,
): Traced => {
  const above = contextOf(parent);
  const span = tracer().startSpan(name, { kind, attributes, links: links.flatMap(linkTo) }, above);
  return {
    trace: traceparentOf(above, span) ?? parent ?? links[0],
    about: (more) => void span.setAttributes(more),
    failed: (message) => void span.setStatus({ code: SpanStatusCode.ERROR, message }),
    end: () => span.end(),
  };
};

const traceparentOf = (above: Context, span: Span): string | undefined => {
  const outgoing: Record<string, string> = {};
  propagation.inject(traces.setSpan(above, span), outgoing);
  return outgoing[HEADERS.trace];
};

/** Of a message that a decider is about to decide. */
export const startDecision = (service: string, message: unknown, place: Place): Traced =>
  startSpan(`${service} ${kindOf(message)}`, place, {}, SpanKind.CONSUMER);

/** Messages say by a word what they are; a decider's tests may use others. */
export const kindOf = (message: unknown): string =>
  typeof message === 'object' && message !== null && 'kind' in message && typeof message.kind === 'string'
    ? message.kind
    : 'message';
