import { type ErrorBody, HoldpointError, isErrorCode } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Engine } from './engine.ts';
import type { Routed } from './inbound.ts';
import type { Addressed } from './kinds.ts';

/**
 * Sends a message to the engine and waits for its commit. Resolves to the answer of the decider. Throws `HoldpointError`: the
 * decider's refusal, or `RUNTIME_UNAVAILABLE` when the store did not take the message.
 */
export const awaitCommit = <To extends Addressed>(
  engine: Pick<Engine<To>, 'accept'>,
  routed: Routed<To>,
  trace?: string,
): Promise<JsonObject> =>
  new Promise((resolve, reject) => {
    engine.accept(
      { ...routed, trace },
      {
        committed: (answer) => {
          if (answer !== undefined && 'error' in answer) reject(errorOf(answer.error));
          else resolve(answer?.ok ?? {});
        },
        failed: (reason, cause) => reject(errorOf(reason, cause)),
        unavailable: () =>
          reject(new HoldpointError('RUNTIME_UNAVAILABLE', 'the store does not answer; try again')),
      },
    );
  });

const errorOf = ({ code, message, details }: ErrorBody, cause?: unknown): HoldpointError =>
  new HoldpointError(isErrorCode(code) ? code : 'RUNTIME_POISON', message, {
    ...(details && { details }),
    ...(cause !== undefined && { cause }),
  });
