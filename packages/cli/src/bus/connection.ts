import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import {
  type Authenticator,
  connect,
  errors,
  type NatsConnection,
  nkeyAuthenticator,
} from '@nats-io/transport-node';
import { UsageError } from '../kit/usage-error.ts';
import type { Settings } from './settings.ts';

/** The bus user of people and their tools. */
const DEFAULT_USER = 'operator';
const CONNECT_TIMEOUT_MS = 3_000;

const unavailable = (message: string, cause: unknown): HoldpointError =>
  new HoldpointError('RUNTIME_UNAVAILABLE', message, { cause });

/** Hosts of an address without the user and password that may stand in it. */
const hostsOf = (natsUrl: string): string =>
  natsUrl
    .split(',')
    .map((url) => url.trim().replace(/^([a-z]+:\/\/)?([^@/]*@)?/i, ''))
    .join(', ');

/** Signs with the seed; one that cannot is found here and not in the middle of a login. */
const authenticatorFor = (seed: Uint8Array): Authenticator => {
  const authenticator = nkeyAuthenticator(seed);
  try {
    authenticator('nonce');
  } catch (cause) {
    throw new UsageError('the NATS seed is not the seed of an nkey', { cause });
  }
  return authenticator;
};

export const connectTo = async ({
  natsUrl,
  seed,
  user = DEFAULT_USER,
}: Settings): Promise<NatsConnection> => {
  const authenticator = seed && authenticatorFor(seed);
  try {
    return await connect({
      servers: natsUrl.split(',').map((url) => url.trim()),
      name: 'holdpoint-client',
      // Below this prefix, and nowhere else, the user may listen for answers.
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
  } catch (error) {
    if (error instanceof errors.AuthorizationError) {
      throw new HoldpointError(
        'ERR_FORBIDDEN',
        `NATS at ${hostsOf(natsUrl)} refuses this user: is the seed right?`,
        { cause: error },
      );
    }
    const reason = error instanceof Error ? ` (${error.message})` : '';
    throw unavailable(`NATS at ${hostsOf(natsUrl)} does not answer${reason}: is it running?`, error);
  }
};

/** Why no answer came, in words that say what to look at. */
export const toHoldpointError = (error: unknown, service: ServiceName, timeoutMs: number): unknown => {
  const reason = error instanceof errors.RequestError ? (error.cause ?? error) : error;
  if (reason instanceof errors.NoRespondersError)
    return unavailable(`${service} does not answer: is it running?`, error);
  if (reason instanceof errors.TimeoutError) {
    const waited = `${service} did not answer within ${String(timeoutMs / 1_000)} s: is it running?`;
    return unavailable(`${waited} It may have acted all the same: look before you repeat`, error);
  }
  if (reason instanceof errors.PermissionViolationError) {
    return new HoldpointError('ERR_FORBIDDEN', `this NATS user may not ask ${service}`, { cause: error });
  }
  if (reason instanceof errors.ClosedConnectionError || reason instanceof errors.DrainingConnectionError) {
    return unavailable('the connection to NATS is closed', error);
  }
  return error;
};
