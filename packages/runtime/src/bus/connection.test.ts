import { connect, errors } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { startRefusingNats } from '../../testing/refusing-nats.ts';
import { silentLogger } from '../observability/log.ts';
import { closeBus, connectBus, isStandstill } from './connection.ts';

test('a connection that breaks while it closes is closed', async () => {
  const { url, breakAtNextPing } = await startRefusingNats('', 0);
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
  const { url, connections } = await startRefusingNats('Authentication Timeout', 4);
  // Only a login that succeeded learns that the server is too old.
  expect(await failureOf(url)).toMatchObject({ code: 'BUS_SERVER_TOO_OLD' });
  expect(connections()).toBe(5);
});

test('a login that the bus refuses ends the start', async () => {
  const { url } = await startRefusingNats('Authorization Violation', 4);
  expect(String(await failureOf(url))).toContain('Authorization Violation');
});

test('an error after a standstill of the process is no refusal', () => {
  expect(isStandstill(new errors.ProtocolError('Stale Connection'))).toBe(true);
  expect(isStandstill(new errors.ProtocolError('Maximum Payload Violation'))).toBe(false);
  expect(isStandstill(new errors.PermissionViolationError('Stale Connection', 'publish', 'hp.evt.a'))).toBe(
    false,
  );
});
