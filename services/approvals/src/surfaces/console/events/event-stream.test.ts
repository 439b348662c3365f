import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type EventStream, openEventStream } from './event-stream.ts';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0)) each();
});

/** A stream and its client, which reads only on demand. */
const connected = async (): Promise<{ readonly stream: EventStream; readonly reader: IncomingMessage }> => {
  const opened = Promise.withResolvers<EventStream>();
  const server = createServer((_, response) => opened.resolve(openEventStream(response)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const request = get({ port, host: '127.0.0.1' });
  request.on('error', () => undefined);
  undo.push(() => {
    request.destroy();
    server.closeAllConnections();
    server.close();
  });
  const [reader] = (await once(request, 'response')) as [IncomingMessage];
  reader.on('error', () => undefined);
  return { stream: await opened.promise, reader };
};

const LINE = 'x'.repeat(65_536);

test('a client that does not read is disconnected, with bounded memory', async () => {
  const { stream } = await connected();
  let sent = 0;
  while (!stream.isOver() && sent < 1_000) {
    stream.send({ event: 'log', data: { line: LINE } });
    sent += 1;
  }
  await stream.ended;
  // The system's own buffers are bounded separately.
  expect(sent).toBeLessThan(1_000);
  expect(await stream.ready()).toBe(false);
});

test('a waiting sender continues once the client has read', async () => {
  const { stream, reader } = await connected();
  let waited = 0;
  let bytes = 0;
  reader.on('data', (chunk: Buffer) => (bytes += chunk.length));
  for (let i = 0; i < 200; i += 1) {
    stream.send({ event: 'log', data: { line: LINE } });
    if (await stream.ready()) waited += 1;
  }
  expect([waited, stream.isOver()]).toEqual([200, false]);
  stream.end();
  await once(reader, 'end');
  expect(bytes).toBeGreaterThan(200 * LINE.length);
});

test('a client that disconnects ends the stream', async () => {
  const { stream, reader } = await connected();
  reader.destroy();
  await stream.ended;
  stream.send({ event: 'event', data: {} });
  expect(stream.isOver()).toBe(true);
});
