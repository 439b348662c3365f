import { clientConnection, isLateLogin } from '@holdpoint/contracts/bus/client-connection';
import { natsLogin } from '@holdpoint/contracts/bus/nats-login';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { connect, errors, type NatsConnection } from '@nats-io/transport-node';
import type { Settings } from './settings.ts';

/** Bus user for operators and their tools. */
const DEFAULT_USER = 'operator';
const CONNECT_TIMEOUT_MS = 3_000;

const unavailable = (message: string, cause: unknown): HoldpointError =>
  new HoldpointError('RUNTIME_UNAVAILABLE', message, { cause });

/** Hosts of the addresses, without credentials. */
const hostsOf = (natsUrl: string): string =>
  natsUrl
    .split(',')
    .map((url) => url.trim().replace(/^([a-z]+:\/\/)?([^@/]*@)?/i, ''))
    .join(', ');

export const connectTo = async ({
  natsUrl,
  seed,
  user = DEFAULT_USER,
}: Settings): Promise<NatsConnection> => {
  const authenticator = seed && natsLogin(seed);
  try {
    return await connect({
      ...clientConnection(natsUrl, user),
      name: 'holdpoint-client',
      ...(authenticator && { authenticator }),
      timeout: CONNECT_TIMEOUT_MS,
    });
  } catch (error) {
    if (error instanceof errors.AuthorizationError && !isLateLogin(error)) {
      throw new HoldpointError(
        'ERR_FORBIDDEN',
        `NATS at ${hostsOf(natsUrl)} refused this user: check its login file`,
        { cause: error },
      );
    }
    const reason = error instanceof Error ? ` (${error.message})` : '';
    throw unavailable(`NATS at ${hostsOf(natsUrl)} does not answer${reason}: check that it runs`, error);
  }
};

/** Explains why no answer came and what to check. */
export const toHoldpointError = (error: unknown, service: ServiceName, timeoutMs: number): unknown => {
  const reason = error instanceof errors.RequestError ? (error.cause ?? error) : error;
  if (reason instanceof errors.NoRespondersError)
    return unavailable(`${service} does not answer: check that it runs`, error);
  if (reason instanceof errors.TimeoutError) {
    const waited = `${service} did not answer within ${String(timeoutMs / 1_000)} s: check that it runs`;
    return unavailable(`${waited} The request may have taken effect: check before you repeat it`, error);
  }
  if (reason instanceof errors.PermissionViolationError) {
    return new HoldpointError('ERR_FORBIDDEN', `this NATS user may not call ${service}`, { cause: error });
  }
  if (reason instanceof errors.ClosedConnectionError || reason instanceof errors.DrainingConnectionError) {
    return unavailable('the connection to NATS is closed', error);
  }
  return error;
};
