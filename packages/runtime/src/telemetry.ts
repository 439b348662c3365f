import { context, propagation, trace as traces } from '@opentelemetry/api';
import { HEADERS } from '@holdpoint/contracts/cloudevents';

const tracer = traces.getTracer('holdpoint');

/**
 * A span below the trace that a message came with, and the `traceparent` for what the message leads to.
 * Without a registered OpenTelemetry SDK no span is made, and the header is handed on as it came.
 */
export const continueTrace = (
  name: string,
  traceparent: string | undefined,
): { readonly trace: string | undefined; readonly end: () => void } => {
  const carrier: Record<string, string> = traceparent === undefined ? {} : { [HEADERS.trace]: traceparent };
  const parent = propagation.extract(context.active(), carrier);
  const span = tracer.startSpan(name, {}, parent);
  const outgoing: Record<string, string> = {};
  propagation.inject(traces.setSpan(parent, span), outgoing);
  return { trace: outgoing[HEADERS.trace] ?? traceparent, end: () => span.end() };
};
