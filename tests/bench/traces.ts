import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type TraceSink = {
  /** The environment that makes services trace this share of tasks. */
  readonly env: (share: number) => Readonly<Record<string, string>>;
  /** Received span bytes so far. */
  readonly bytes: () => number;
  readonly stop: () => void;
};

/** Receives spans like a collector and discards them. */
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
