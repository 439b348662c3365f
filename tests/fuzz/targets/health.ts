import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { once } from 'node:events';
import { type HttpServer, serveHttp } from '@holdpoint/runtime/service/http';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { createMetrics } from '@holdpoint/runtime/observability/metrics';
import fc from 'fast-check';
import { nastyText } from '../hostile/strings.ts';
import { target } from '../target.ts';
import { type Bytes, bytesOf, type Text } from '../text.ts';

type Input = { readonly request: Bytes; readonly ends: boolean };

const raw = (text: Text): Bytes => [text];
const LINES = [
  'GET /healthz HTTP/1.1',
  'GET /readyz HTTP/1.1',
  'GET /metrics HTTP/1.0',
  'POST /healthz HTTP/1.1',
  'HEAD / HTTP/1.1',
  'PRI * HTTP/2.0',
  'GET http://x/ HTTP/1.1',
  'CONNECT x:1 HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'GET /healthz HTTP/9.9',
  'GET /%00%ff HTTP/1.1',
];
const HEADERS = [
  'Host: x',
  'Content-Length: 5',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  'Expect: 100-continue',
  'Upgrade: websocket',
  'Connection: upgrade',
  'Connection: close',
  ': x',
  'X : y',
  'Host: y',
];

const requests: fc.Arbitrary<Bytes> = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes): Bytes => [{ hex: Buffer.from(bytes).toString('hex') }]),
  nastyText.map(raw),
  fc
    .tuple(
      fc.constantFrom(...LINES),
      fc.array(fc.constantFrom(...HEADERS), { maxLength: 4 }),
      fc.array(nastyText, { maxLength: 2 }),
      nastyText,
    )
    .map(([line, headers, odd, body]): Bytes => [
      [line, ...headers].join('\r\n'),
      ...odd.flatMap((text): Bytes => ['\r\nX-Odd: ', text]),
      '\r\n\r\n',
      body,
    ]),
  fc
    .constantFrom(...LINES)
    .map((line): Bytes => [line, '\r\n', { repeat: 'X: y\r\n', times: 5_000 }, '\r\n']),
  fc.constantFrom<Bytes>(['GET /'], ['GET /', { repeat: 'a', times: 100_000 }, ' HTTP/1.1\r\n\r\n'], []),
);

let server: Promise<HttpServer> | undefined;
const { exposition } = createMetrics('fuzz', silentLogger());
const portOf = async (): Promise<number> => {
  server ??= serveHttp(
    { host: '127.0.0.1', port: 0 },
    [{ name: 'x', ready: () => Promise.resolve(true) }],
    exposition,
  );
  return (await server).port;
};

/** Sends the bytes and closes the connection, cleanly or not. */
const say = async (port: number, bytes: Uint8Array, ends: boolean): Promise<void> => {
  const socket = connect(port, '127.0.0.1');
  // The server may close the connection.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.resume();
  if (ends) socket.end(bytes);
  else socket.write(bytes, () => socket.destroy());
  await closed;
};

/** The server answers the next request after any input. */
export const health = target<Input>({
  name: 'health',
  runs: 40,
  reaches: ['accepted'],
  cases: { 'raw bytes': fc.record({ request: requests, ends: fc.boolean() }) },
  check: async ({ request, ends }) => {
    const port = await portOf();
    await say(port, bytesOf(request), ends);
    const answer = await fetch(`http://127.0.0.1:${String(port)}/readyz`);
    assert.deepEqual(await answer.json(), { ready: true, checks: { x: true } });
    return 'accepted';
  },
  end: async () => {
    await (await server)?.stop();
    server = undefined;
  },
});
