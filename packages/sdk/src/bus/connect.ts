import { readFile } from 'node:fs/promises';
import { clientConnection } from '@holdpoint/contracts/bus/client-connection';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import {
  type Authenticator,
  connect,
  errors,
  type NatsConnection,
  nkeyAuthenticator,
} from '@nats-io/transport-node';

export type ConnectOptions = {
  /** `nats://host:port`; separate several with commas. */
  readonly url: string;
  /** File with the nkey seed of the NATS user; leave it out for a server without authentication. */
  readonly seedFile?: string;
  /**
   * The NATS user: `worker` for workers, `operator` for clients. It receives answers below `_INBOX_<user>`
   * only.
   */
  readonly user?: string;
  /** Shown in the connection list of the server. */
  readonly name?: string;
};

const CONNECT_TIMEOUT_MS = 5_000;

const unusable = (seedFile: string, cause: unknown): HoldpointError =>
  new HoldpointError('ERR_FORBIDDEN', `${seedFile} contains no valid nkey seed`, { cause });

/** Reads the seed and signs once, so that a bad seed fails here and not during the login. */
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
 * Connects as a NATS user and reconnects without limit after the first login. Throws `HoldpointError`:
 * `ERR_FORBIDDEN` for refused credentials, `RUNTIME_UNAVAILABLE` without a server.
 */
export const connectToBus = async ({
  url,
  seedFile,
  user = 'worker',
  name = `holdpoint ${user}`,
}: ConnectOptions): Promise<NatsConnection> => {
  const authenticator = seedFile === undefined ? undefined : await authenticatorFrom(seedFile);
  try {
    return await connect({
      ...clientConnection(url, user),
      name,
      ...(authenticator && { authenticator }),
      timeout: CONNECT_TIMEOUT_MS,
    });
  } catch (cause) {
    if (cause instanceof errors.AuthorizationError)
      throw new HoldpointError('ERR_FORBIDDEN', `NATS refused the user ${user}: check the seed`, {
        cause,
      });
    throw new HoldpointError('RUNTIME_UNAVAILABLE', 'NATS does not answer: check that it runs', { cause });
  }
};
