import { type IncomingMessage, request as requestHttp } from 'node:http';
import { createServer, request as requestHttps, type RequestOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSigned } from '@holdpoint/executor/testing/self-signed';

/** A proxy with TLS before a port of this machine, which passes WebSockets on. Its certificate says `localhost`. */
export const startTlsProxy = async (
  target: number,
): Promise<{ readonly port: number; readonly stop: () => Promise<void> }> => {
  const onward = ({ method, url, headers }: IncomingMessage) =>
    requestHttp({
      host: '127.0.0.1',
      port: target,
      method,
      path: url,
      headers: { ...headers, host: `127.0.0.1:${String(target)}` },
    });
  const server = createServer({ key: selfSigned.key, cert: selfSigned.cert }, (request, response) => {
    const passed = onward(request);
    passed.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  server.on('upgrade', (request, socket) => {
    const passed = onward(request);
    const status = ({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string => {
      const lines = rawHeaders.flatMap((name, i) =>
        i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1] ?? ''}`] : [],
      );
      return [`HTTP/1.1 ${String(statusCode)} ${statusMessage ?? ''}`, ...lines, '', ''].join('\r\n');
    };
    socket.on('error', () => passed.destroy());
    passed.on('error', () => socket.destroy());
    passed.on('response', (answer) => socket.end(status(answer)));
    passed.on('upgrade', (answer, other, head) => {
      socket.write(status(answer));
      socket.write(head);
      other.on('error', () => socket.destroy());
      other.pipe(socket).pipe(other);
    });
    passed.end();
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};

/** Calls a server with that certificate. */
export const callTls = (
  port: number,
  path: string,
  { body, ...options }: RequestOptions & { readonly body?: unknown } = {},
): Promise<{ readonly status: number; readonly body: string }> =>
  new Promise((resolve, reject) => {
    const call = requestHttps(
      { ...options, host: 'localhost', port, path, ca: selfSigned.cert },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
        );
        answer.on('error', reject);
      },
    );
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
