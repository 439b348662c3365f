import { scopeOfEndpoint } from '@holdpoint/contracts/catalog/scopes';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { errors } from '@nats-io/transport-node';

/** Time to wait for an answer, try after try. Every endpoint answers after one commit or one query, but a machine may be busy. */
const TRIES_MS: readonly number[] = [5_000, 10_000, 15_000];

export const sumOf = (tries: readonly number[]): number => tries.reduce((sum, each) => sum + each, 0);

/** A repeat has no second effect: the request only reads, or the service knows it again by its ID. */
const isRepeatable = (service: ServiceName, endpoint: string, requestId: string | undefined): boolean => {
  const scope = scopeOfEndpoint(service, endpoint);
  return (
    requestId !== undefined || endpoint === 'info' || scope === 'any' || scope?.endsWith(':read') === true
  );
};

/** The tries of a request, each with its time. A service that stopped loses a request, and its successor answers the repeat. */
export const triesFor = (
  service: ServiceName,
  endpoint: string,
  { requestId, timeoutMs }: { readonly requestId?: string; readonly timeoutMs?: number },
): readonly number[] => {
  if (timeoutMs !== undefined) return [timeoutMs];
  return isRepeatable(service, endpoint, requestId) ? TRIES_MS : [sumOf(TRIES_MS)];
};

export const isTimeout = (error: unknown): boolean =>
  (error instanceof errors.RequestError ? (error.cause ?? error) : error) instanceof errors.TimeoutError;

/** Sends until an answer comes. Only a missing answer is tried again; a later error does not hide it. */
export const sendInTries = async <Answer>(
  tries: readonly number[],
  send: (timeoutMs: number) => Promise<Answer>,
): Promise<Answer> => {
  let silence: unknown;
  for (const timeoutMs of tries) {
    try {
      return await send(timeoutMs);
    } catch (error) {
      if (!isTimeout(error)) throw silence ?? error;
      silence = error;
    }
  }
  throw silence;
};
