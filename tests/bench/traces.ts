import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type TraceSink = {
  /** What the services are told, so that they trace this share of all tasks. */
  readonly env: (share: number) => Readonly<Record<string, string>>;
  /** Bytes of spans that have come so far. */
  readonly bytes: () => number;
  readonly stop: () => void;
};

/** Takes spans as a collector would, and throws them away. */
export const startTraceSink = async (): Promise<TraceSink> => {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (part: Buffer) => (bytes += part.length));
    request.on('end', () => response.setHeader('content-type', 'application/json').end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    env: (share) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${String(port)}`,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: String(share),
    }),
    bytes: () => bytes,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};
