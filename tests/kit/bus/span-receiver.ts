import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const Value = z.object({
  stringValue: z.string().optional(),
  intValue: z.union([z.string(), z.number()]).optional(),
});
const Attributes = z
  .array(z.object({ key: z.string(), value: Value }))
  .default([])
  .transform((all) =>
    Object.fromEntries(all.map(({ key, value }) => [key, value.stringValue ?? String(value.intValue ?? '')])),
  );
const Sent = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              startTimeUnixNano: z.string(),
              endTimeUnixNano: z.string(),
              attributes: Attributes,
              links: z.array(z.object({ traceId: z.string() })).default([]),
              status: z.object({ message: z.string().optional() }).default({}),
            }),
          ),
        }),
      ),
    }),
  ),
});
type Sent = z.infer<typeof Sent>;

export type ReceivedSpan = Sent['resourceSpans'][number]['scopeSpans'][number]['spans'][number] & {
  readonly service: string;
};

export type SpanReceiver = {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: () => readonly ReceivedSpan[];
  readonly stop: () => Promise<void>;
};

/** A stand-in for an OpenTelemetry collector: receives traces by OTLP over HTTP, in JSON. */
export const startSpanReceiver = async (): Promise<SpanReceiver> => {
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { resourceSpans } = Sent.parse(JSON.parse(Buffer.concat(parts).toString()));
      for (const { resource, scopeSpans } of resourceSpans)
        for (const each of scopeSpans.flatMap((scope) => scope.spans))
          spans.push({ ...each, service: resource.attributes['service.name'] ?? '' });
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    spans: () => spans,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
