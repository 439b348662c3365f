import { readFile } from 'node:fs/promises';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import {
  type Authenticator,
  connect,
  errors,
  type NatsConnection,
  nkeyAuthenticator,
} from '@nats-io/transport-node';

export type ConnectOptions = {
  /** `nats://host:port`, several with commas. */
  readonly url: string;
  /** The file with the nkey seed of the bus user; left out where the server asks for none. */
  readonly seedFile?: string;
  /** The bus user: `worker` for whoever runs phases, `operator` for clients. It may listen for answers below `_INBOX_<user>` only. */
  readonly user?: string;
  /** For people who look at the connections of the server. */
  readonly name?: string;
};

const CONNECT_TIMEOUT_MS = 5_000;

const unusable = (seedFile: string, cause: unknown): HoldpointError =>
  new HoldpointError('ERR_FORBIDDEN', `${seedFile} holds no nkey seed that can be used`, { cause });

/** Signs with the seed; one that cannot is found here and not in the middle of a login. */
const authenticatorFrom = async (seedFile: string): Promise<Authenticator> => {
  try {
    const seed = (await readFile(seedFile, 'utf8')).trim();
    const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed));
    authenticator('nonce');
    return authenticator;
  } catch (cause) {
    throw unusable(seedFile, cause);
  }
};

/**
 * Connects to the bus as one of its users, and stays connected for ever once it was let in. Throws `HoldpointError`:
 * `ERR_FORBIDDEN` when the user is not let in, `RUNTIME_UNAVAILABLE` when nobody answers.
 */
export const connectToBus = async ({
  url,
  seedFile,
  user = 'worker',
  name = `holdpoint ${user}`,
}: ConnectOptions): Promise<NatsConnection> => {
  const authenticator = seedFile === undefined ? undefined : await authenticatorFrom(seedFile);
  const servers = url.split(',').map((each) => each.trim());
  try {
    return await connect({
      servers,
      name,
      inboxPrefix: `_INBOX_${user}`,
      ...(authenticator && { authenticator }),
      timeout: CONNECT_TIMEOUT_MS,
      maxReconnectAttempts: -1,
      // A network that lets nothing through looks to the server like somebody who does not say who he is.
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: 250,
      reconnectJitter: 250,
      pingInterval: 5_000,
      maxPingOut: 2,
    });
  } catch (cause) {
    if (cause instanceof errors.AuthorizationError)
      throw new HoldpointError('ERR_FORBIDDEN', `NATS does not let the user ${user} in: is the seed right?`, {
        cause,
      });
    throw new HoldpointError('RUNTIME_UNAVAILABLE', 'NATS does not answer: is it running?', { cause });
  }
};
