import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Exposition } from '../observability/meter.ts';

/** What `/readyz` asks; each answers with a reason when it is not ready. */
export type Check = { readonly name: string; readonly ready: () => Promise<boolean> };

export type HttpServer = { readonly port: number; readonly stop: () => Promise<void> };

/** What a service answers beside its health. */
export type Web = {
  readonly request: RequestListener;
  /** Takes a connection over for another protocol. Without it such a request is answered like any other. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
};

/** `/healthz`: the process answers. `/readyz`: store and bus answer too. `/metrics`: Prometheus text. */
export const serveHttp = async (
  { host, port }: { readonly host: string; readonly port: number },
  checks: readonly Check[],
  figures: Exposition,
  web?: Web,
): Promise<HttpServer> => {
  const server = createServer((request, response) => {
    const send = (status: number, body: string, type = 'application/json'): void => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    if (request.url === '/healthz') send(200, '{"status":"ok"}');
    else if (request.url === '/readyz')
      void readiness(checks).then(({ ready, body }) => send(ready ? 200 : 503, body));
    else if (request.url === '/metrics') {
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
      // Nobody listens until somebody has taken it over, and an error that nobody hears ends the process.
      socket.on('error', () => socket.destroy());
      upgrade(request, socket, head);
    });
  server.headersTimeout = 5_000;
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // Whoever holds a connection open and asks nothing, or half of something, may not hold up the stop.
        server.closeAllConnections();
        for (const socket of taken) socket.destroy();
      }),
  };
};

const passes = async (ready: Check['ready']): Promise<boolean> => {
  try {
    return await ready();
  } catch {
    // Why is for the log of whatever failed; a probe needs to know that it did.
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
