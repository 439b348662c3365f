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

const TRACER = 'holdpoint';
/** Looked up at each call: a stored tracer would stay with the first provider. */
const tracer = () => traces.getTracer(TRACER);

/** The global provider hands over to the one of the process, if there is one. */
type Global = { readonly getDelegateTracer?: (name: string) => unknown };
const isTracing = (): boolean => {
  const provider = traces.getTracerProvider() as Global;
  return provider.getDelegateTracer === undefined || provider.getDelegateTracer(TRACER) !== undefined;
};

const nothing = (): void => undefined;

/** The trace of the task, and the time of its latest event in epoch milliseconds. */
export type Origin = { readonly at: number; readonly trace: string | undefined };

/** The parent of a new span, and its links; all as `traceparent` values. */
export type SpanParent = { readonly parent: string | undefined; readonly links: readonly string[] };

/**
 * After such a wait a task continues in a new trace that links to the old one: backends do not keep traces
 * open for days.
 */
export const LONG_WAIT_MS = 6 * 3_600_000;

const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.split('-')[1];

/** The trace id for log lines. */
export const traceFields = (traceparent: string | undefined): { readonly trace_id?: string } => {
  const id = traceIdOf(traceparent);
  return id === undefined ? {} : { trace_id: id };
};

/**
 * Decisions about a task stay in the trace of the task. The trace of a sender, such as an approver, is linked.
 * Only after a long wait does the task continue in the trace of the sender.
 */
export const spanParentOf = (
  incoming: string | undefined,
  origin: Origin | undefined,
  now: number,
): SpanParent => {
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
  /** Whether there is a span, so that attributes count. */
  readonly isRecorded: boolean;
  /** The `traceparent` for the results of this span. */
  readonly trace: string | undefined;
  readonly about: (attributes: Attributes) => void;
  readonly failed: (reason: string) => void;
  readonly end: () => void;
};

const unrecorded = ({ parent, links }: SpanParent): Traced => ({
  isRecorded: false,
  trace: parent ?? links[0],
  about: nothing,
  failed: nothing,
  end: nothing,
});

/**
 * Starts a span. Without OpenTelemetry, see `tracing.ts`, there is no span, and the incoming trace is passed
 * on.
 */
export const startSpan = (
  name: string,
  place: SpanParent,
  attributes: Attributes = {},
  kind: SpanKind = SpanKind.INTERNAL,
): Traced => {
  if (!isTracing()) return unrecorded(place);
  const { parent, links } = place;
  const above = contextOf(parent);
  const span = tracer().startSpan(name, { kind, attributes, links: links.flatMap(linkTo) }, above);
  return {
    isRecorded: true,
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

/** The span of one decision. */
export const startDecision = (service: string, message: unknown, place: SpanParent): Traced =>
  startSpan(`${service} ${kindOf(message)}`, place, {}, SpanKind.CONSUMER);

/** The `kind` of a message. Messages in tests may have none. */
export const kindOf = (message: unknown): string =>
  typeof message === 'object' && message !== null && 'kind' in message && typeof message.kind === 'string'
    ? message.kind
    : 'message';
