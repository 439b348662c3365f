import { connect, type NatsConnection, nkeyAuthenticator } from '@nats-io/transport-node';
import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from '../observability/log.ts';

export type BusSettings = {
  readonly url: string;
  /** The nkey seed of the user; undefined where the server asks for none. */
  readonly seed: Uint8Array | undefined;
  /** The bus user: names the inbox prefix, outside of which it may not listen. */
  readonly user: string;
};

/** Every user listens below a prefix of its own, so that none can read the answers meant for another. */
export const inboxPrefixOf = (user: string): string => `_INBOX_${user}`;

/** Where a service is answered by another. Apart from its inbox, where the answers of the bus itself come in. */
export const askInboxOf = (user: string): string => `_ASK_${user}`;

// Not in the client's types, but read by it: how much is gathered before a write. A batch should leave as one.
const WRITES = { pendingLimit: 512 * 1024 };

/**
 * Connects and stays connected: for ever, with a ping that notices a frozen server within 15 seconds. Whoever is not let in
 * hears so here, by a connection that is given up for it. Later ones are not: a server that hears nothing, because a network
 * lets nothing through, says that nobody has said who they are, and would be left for ever after the second time.
 */
export const connectBus = async (settings: BusSettings, log: Logger): Promise<NatsConnection> => {
  await (await open(settings, { ignoreAuthErrorAbort: false })).close();
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
    ...(seed !== undefined && { authenticator: nkeyAuthenticator(seed) }),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    waitOnFirstConnect: true,
    pingInterval: 5_000,
    maxPingOut: 2,
    timeout: 3_000,
    ...WRITES,
  });

const watch = async (connection: NatsConnection, log: Logger): Promise<void> => {
  for await (const status of connection.status()) {
    if (status.type === 'error') log.error(errorFields(status.error), 'bus refused something');
    else if (status.type === 'disconnect' || status.type === 'reconnect')
      log.warn({ status: status.type }, 'bus connection');
  }
};
