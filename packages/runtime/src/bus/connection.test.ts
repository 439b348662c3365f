import { connect, errors } from '@nats-io/transport-node';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../observability/log.ts';
import { closeBus, connectBus, isStandstill } from './connection.ts';

const INFO = JSON.stringify({ server_id: 'old', version: '2.2.0', max_payload: 2_097_152, headers: true });

/** A server that answers its first `times` logins with `refusal`. It is too old for a service. */
const startServer = async (refusal: string, times: number) => {
  const sockets: Socket[] = [];
  let breaks = false;
  const server = createServer((socket) => {
    sockets.push(socket);
    const refuses = sockets.length <= times;
    socket.on('error', () => undefined);
    socket.write(`INFO ${INFO}\r\n`);
    socket.on('data', (data) => {
      if (refuses) socket.end(`-ERR '${refusal}'\r\n`);
      else if (breaks) socket.destroy();
      else if (data.includes('PING')) socket.write('PONG\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `nats://127.0.0.1:${String(address.port)}`,
    connections: () => sockets.length,
    breakAtNextPing: () => void (breaks = true),
  };
};

test('a connection that breaks while it closes is closed', async () => {
  const { url, breakAtNextPing } = await startServer('', 0);
  const connection = await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 10 });
  breakAtNextPing();
  await closeBus(connection, silentLogger());
  expect(connection.isClosed()).toBe(true);
  await expect(closeBus(connection, silentLogger())).resolves.toBeUndefined();
});

const failureOf = (url: string): Promise<unknown> =>
  connectBus({ url, user: 'approvals', seed: undefined }, silentLogger()).then(
    () => 'it connects',
    (error: unknown) => error,
  );

test('a login that reaches the bus too late is tried again', async () => {
  const { url, connections } = await startServer('Authentication Timeout', 4);
  // Only a login that succeeded learns that the server is too old.
  expect(await failureOf(url)).toMatchObject({ code: 'BUS_SERVER_TOO_OLD' });
  expect(connections()).toBe(5);
});

test('a login that the bus refuses ends the start', async () => {
  const { url } = await startServer('Authorization Violation', 4);
  expect(String(await failureOf(url))).toContain('Authorization Violation');
});

test('an error after a standstill of the process is no refusal', () => {
  expect(isStandstill(new errors.ProtocolError('Stale Connection'))).toBe(true);
  expect(isStandstill(new errors.ProtocolError('Maximum Payload Violation'))).toBe(false);
  expect(isStandstill(new errors.PermissionViolationError('Stale Connection', 'publish', 'hp.evt.a'))).toBe(
    false,
  );
});
