import { openInTime } from '@holdpoint/contracts/bus/client-connection';
import type { ConsumerDeclaration } from '@holdpoint/contracts/bus/streams';
import { type LoginText, natsLogin } from '@holdpoint/contracts/bus/nats-login';
import { connect, errors, type NatsConnection } from '@nats-io/transport-node';
import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from '../observability/log.ts';
import { examineBus } from './examine-bus.ts';

export type BusSettings = {
  readonly url: string;
  /** The nkey seed or the `.creds` of the user; undefined for a server without authentication. */
  readonly seed: LoginText | undefined;
  /** The bus user. Its name is the inbox prefix, outside of which it may not subscribe. */
  readonly user: string;
  /** Consumers beside those of the contracts that the user must be allowed to read. */
  readonly reads?: readonly ConsumerDeclaration[] | undefined;
};

/** Every user has an inbox prefix of its own, so that no user can read the responses to another. */
export const inboxPrefixOf = (user: string): string => `_INBOX_${user}`;

/** The inbox for responses of other services. Responses of the bus itself arrive in the other inbox. */
export const askInboxOf = (user: string): string => `_ASK_${user}`;

// An option of the client that its types omit: bytes that are gathered before a write. A batch should leave
// as one write.
const WRITES = { pendingLimit: 512 * 1024 };

/**
 * Connects, and reconnects without end. A ping notices a frozen server within 15 seconds. The first connection
 * only checks server, account and credentials, and fails when they cannot serve. Later refusals do not end the
 * connection: behind a network partition a server also reports missing credentials.
 */
export const connectBus = async (settings: BusSettings, log: Logger): Promise<NatsConnection> => {
  const first = await openInTime(
    () => open(settings, { ignoreAuthErrorAbort: false }),
    (error) => log.warn(errorFields(error), 'the login reached the bus too late: trying again'),
  );
  try {
    const { user, seed, reads } = settings;
    const inboxPrefix = inboxPrefixOf(user);
    await examineBus(first, user, { inboxPrefix, hasLogin: seed !== undefined, reads });
  } finally {
    await first.close();
  }
  const connection = await open(settings, { ignoreAuthErrorAbort: true });
  void watch(connection, log);
  return connection;
};

const open = (
  { url, seed, user }: BusSettings,
  more: { readonly ignoreAuthErrorAbort: boolean },
): Promise<NatsConnection> =>
  connect({
    ...more,
    servers: url.split(','),
    name: user,
    inboxPrefix: inboxPrefixOf(user),
    ...(seed !== undefined && { authenticator: natsLogin(seed) }),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    waitOnFirstConnect: true,
    pingInterval: 5_000,
    maxPingOut: 2,
    timeout: 3_000,
    ...WRITES,
  });

/** Sends everything that is under way, and closes. A connection that breaks meanwhile is closed without it. */
export const closeBus = async (connection: NatsConnection, log: Logger): Promise<void> => {
  try {
    await connection.drain();
  } catch (error) {
    log.warn(errorFields(error), 'the bus was away at the end');
    await connection.close();
  }
};

/** The server ends the connection of a process that has stood still. The process connects again. */
export const isStandstill = (error: Error): boolean =>
  error instanceof errors.ProtocolError && error.message === 'Stale Connection';

/** Calls back after each reconnection, until it is stopped. */
export const onReconnect = (
  connection: Pick<NatsConnection, 'status'>,
  then: () => void,
): { readonly stop: () => void } => {
  let isStopped = false;
  const follow = async (): Promise<void> => {
    for await (const { type } of connection.status()) {
      if (isStopped) return;
      if (type === 'reconnect') then();
    }
  };
  void follow();
  return { stop: () => void (isStopped = true) };
};

const watch = async (connection: NatsConnection, log: Logger): Promise<void> => {
  for await (const status of connection.status()) {
    if (status.type === 'error' && isStandstill(status.error))
      log.warn(
        errorFields(status.error),
        'the bus ended the connection: this process did not answer in time',
      );
    else if (status.type === 'error') log.error(errorFields(status.error), 'bus refused something');
    else if (status.type === 'disconnect' || status.type === 'reconnect')
      log.warn({ status: status.type }, 'bus connection');
  }
};
