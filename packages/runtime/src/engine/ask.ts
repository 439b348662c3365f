import { type ErrorBody, HoldpointError, isErrorCode } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Engine } from './engine.ts';
import type { Routed } from './inbound.ts';

/**
 * Puts a message to the engine and waits for its commit. Resolves to what was answered; throws `HoldpointError`: what the
 * decider refused it with, or `RUNTIME_UNAVAILABLE` when the store did not take it.
 */
export const ask = <Message>(
  engine: Pick<Engine<Message>, 'accept'>,
  { aggregate, message }: Routed<Message>,
  trace?: string,
): Promise<JsonObject> =>
  new Promise((resolve, reject) => {
    engine.accept({
      aggregate,
      message,
      trace,
      settled: (answer) => {
        if (answer !== undefined && 'error' in answer) reject(errorOf(answer.error));
        else resolve(answer?.ok ?? {});
      },
      failed: (reason, cause) => reject(errorOf(reason, cause)),
      unavailable: () =>
        reject(new HoldpointError('RUNTIME_UNAVAILABLE', 'the store does not answer; ask again')),
    });
  });

const errorOf = ({ code, message, details }: ErrorBody, cause?: unknown): HoldpointError =>
  new HoldpointError(isErrorCode(code) ? code : 'RUNTIME_POISON', message, {
    ...(details && { details }),
    ...(cause !== undefined && { cause }),
  });
