import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { selfSigned } from './self-signed.ts';

export type Received = {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

export type Target = {
  readonly origin: string;
  /** Every request that came in whole. */
  readonly received: readonly Received[];
  readonly connections: () => number;
  readonly stop: () => Promise<void>;
};

const open = async (
  server: Server,
  scheme: string,
  host: string,
  received: readonly Received[],
): Promise<Target> => {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `${scheme}://${host}:${String((server.address() as AddressInfo).port)}`,
    received,
    connections: () => connections,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
};

type Respond = (response: ServerResponse, request: IncomingMessage) => void;

const recording =
  (received: Received[], respond: Respond) => (request: IncomingMessage, response: ServerResponse) =>
    void buffer(request).then(
      (body) => {
        received.push({
          method: request.method,
          path: request.url,
          headers: request.headers,
          body: body.toString(),
        });
        respond(response, request);
      },
      () => undefined,
    );

/** Reads a whole request, then runs the given behaviour. */
export const httpTarget = (respond: Respond): Promise<Target> => {
  const received: Received[] = [];
  return open(createHttp(recording(received, respond)), 'http', '127.0.0.1', received);
};

/** The same with a certificate that says `localhost`. */
export const httpsTarget = (respond: Respond, host = 'localhost'): Promise<Target> => {
  const received: Received[] = [];
  return open(createHttps(selfSigned, recording(received, respond)), 'https', host, received);
};

/** Speaks as it likes. */
export const rawTarget = (talk: (socket: Socket) => void): Promise<Target> =>
  open(createServer(talk), 'http', '127.0.0.1', []);
