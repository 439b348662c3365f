import { readFile } from 'node:fs/promises';
import { openInTime } from '@holdpoint/contracts/bus/client-connection';
import { natsLogin } from '@holdpoint/contracts/bus/nats-login';
import { connect } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import type { NatsUser } from '../credentials/layout.ts';
import { natsLoginFile } from '../credentials/read.ts';

export type ConnectAs = { readonly url: string; readonly credentialsDir: string; readonly user: NatsUser };

/** Logs in as one of the users, with the inbox prefix that the user's permissions ask for. As services do, it repeats a late login. */
export const connectAs = async ({ url, credentialsDir, user }: ConnectAs): Promise<NatsConnection> => {
  const login = await readFile(natsLoginFile(credentialsDir, user));
  return openInTime(() =>
    connect({
      servers: url,
      name: `holdpoint ${user}`,
      inboxPrefix: `_INBOX_${user}`,
      authenticator: natsLogin(login),
      timeout: 5_000,
      maxReconnectAttempts: -1,
      ignoreAuthErrorAbort: true,
    }),
  );
};
