import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Exposition } from '../observability/meter.ts';

/** A readiness check of `/readyz`. */
export type Check = { readonly name: string; readonly ready: () => Promise<boolean> };

export type HttpServer = {
  readonly port: number;
  readonly metricsPort?: number;
  readonly stop: () => Promise<void>;
};

/** Routes beside health and metrics. */
export type Web = {
  readonly request: RequestListener;
  /** Upgrades a connection to another protocol. Left out: the request is answered like any other. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
};

/** Where a service listens. With a port for metrics, they are served there alone: the other may be open to people. */
export type Listening = {
  readonly host: string;
  readonly port: number;
  readonly metricsPort?: number | undefined;
};

/** `/healthz`: the process answers. `/readyz`: store and bus answer too. `/metrics`: Prometheus text. */
export const serveHttp = async (
  { host, port, metricsPort }: Listening,
  checks: readonly Check[],
  figures: Exposition,
  web?: Web,
  setting = 'HOLDPOINT_HTTP_PORT',
): Promise<HttpServer> => {
  const server = createServer((request, response) => {
    const send = (status: number, body: string, type = 'application/json'): void => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    if (request.url === '/healthz') send(200, '{"status":"ok"}');
    else if (request.url === '/readyz')
      void readiness(checks).then(({ ready, body }) => send(ready ? 200 : 503, body));
    else if (request.url === '/metrics' && metricsPort === undefined) {
      void figures.text().then(
        (text) => send(200, text, figures.contentType),
        () => send(500, '{"status":"metrics cannot be collected"}'),
      );
    } else if (web !== undefined) web.request(request, response);
    else send(404, '{"status":"unknown path"}');
  });
  const taken = new Set<Duplex>();
  const { upgrade } = web ?? {};
  if (upgrade !== undefined)
    server.on('upgrade', (request, socket, head) => {
      taken.add(socket);
      socket.once('close', () => taken.delete(socket));
      // Until the upgrade has taken over, an unhandled socket error would end the process.
      socket.on('error', () => socket.destroy());
      upgrade(request, socket, head);
    });
  server.headersTimeout = 5_000;
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const place = `${host}:${String(port)} (${cause.code ?? cause.message})`;
      reject(
        new Error(
          `${setting}: cannot listen on ${place}: end the program that has this port, or set another`,
          {
            cause,
          },
        ),
      );
    });
    server.listen(port, host, resolve);
  });
  const apart =
    metricsPort === undefined
      ? undefined
      : await serveHttp({ host, port: metricsPort }, checks, figures, undefined, 'HOLDPOINT_METRICS_PORT');
  return {
    port: (server.address() as AddressInfo).port,
    ...(apart !== undefined && { metricsPort: apart.port }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => void (apart?.stop() ?? Promise.resolve()).then(resolve));
        // An idle or incomplete connection must not delay the stop.
        server.closeAllConnections();
        for (const socket of taken) socket.destroy();
      }),
  };
};

const passes = async (ready: Check['ready']): Promise<boolean> => {
  try {
    return await ready();
  } catch {
    // The failing part logs the reason; the probe needs only the result.
    return false;
  }
};

const readiness = async (
  checks: readonly Check[],
): Promise<{ readonly ready: boolean; readonly body: string }> => {
  const results = await Promise.all(
    checks.map(async ({ name, ready }) => [name, await passes(ready)] as const),
  );
  const ready = results.every(([, ok]) => ok);
  return { ready, body: JSON.stringify({ ready, checks: Object.fromEntries(results) }) };
};
