import { readFile } from 'node:fs/promises';
import { connect, nkeyAuthenticator } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import { layout } from '../credentials/layout.ts';
import type { NatsUser } from '../credentials/layout.ts';

export type ConnectAs = { readonly url: string; readonly credentialsDir: string; readonly user: NatsUser };

/** Logs in as one of the users, with the inbox prefix that the user's permissions ask for. */
export const connectAs = async ({ url, credentialsDir, user }: ConnectAs): Promise<NatsConnection> => {
  const seed = await readFile(layout(credentialsDir).natsSeed(user), 'utf8');
  return connect({
    servers: url,
    name: `holdpoint ${user}`,
    inboxPrefix: `_INBOX_${user}`,
    authenticator: nkeyAuthenticator(new TextEncoder().encode(seed.trim())),
    timeout: 5_000,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
  });
};
