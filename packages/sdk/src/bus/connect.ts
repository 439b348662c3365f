import { readFileSync } from 'node:fs';
import { clientConnection, isLateLogin } from '@holdpoint/contracts/bus/client-connection';
import { natsLogin } from '@holdpoint/contracts/bus/nats-login';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { connect, errors, type NatsConnection } from '@nats-io/transport-node';

export type ConnectOptions = {
  /** `nats://host:port`; separate several with commas. */
  readonly url: string;
  /** File with the nkey seed or the `.creds` of the NATS user; leave it out for a server without authentication. */
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

/** Reads the file now, and again at each connection. */
const loginIn =
  (seedFile: string): (() => Uint8Array) =>
  () => {
    try {
      return readFileSync(seedFile);
    } catch (cause) {
      throw new HoldpointError('BUS_LOGIN_INVALID', `${seedFile} cannot be read`, { cause });
    }
  };

/**
 * Connects as a NATS user and reconnects without limit after the first login. Throws `HoldpointError`:
 * `BUS_LOGIN_INVALID` or `BUS_LOGIN_EXPIRED` for the file, `ERR_FORBIDDEN` for refused credentials,
 * `RUNTIME_UNAVAILABLE` without a server.
 */
export const connectToBus = async ({
  url,
  seedFile,
  user = 'worker',
  name = `holdpoint ${user}`,
}: ConnectOptions): Promise<NatsConnection> => {
  const authenticator = seedFile === undefined ? undefined : natsLogin(loginIn(seedFile));
  try {
    return await connect({
      ...clientConnection(url, user),
      name,
      ...(authenticator && { authenticator }),
      timeout: CONNECT_TIMEOUT_MS,
    });
  } catch (cause) {
    if (cause instanceof errors.AuthorizationError && !isLateLogin(cause))
      throw new HoldpointError('ERR_FORBIDDEN', `NATS refused the user ${user}: check its login file`, {
        cause,
      });
    throw new HoldpointError('RUNTIME_UNAVAILABLE', 'NATS does not answer: check that it runs', { cause });
  }
};
