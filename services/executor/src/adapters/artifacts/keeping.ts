import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Outcome } from '../../effect/decide.ts';
import { cut, fits, fitting, fittingError, withLog } from './fit-outputs.ts';
import type { LogFile } from './log-file.ts';
import type { Spool, Spooled } from './spool.ts';

/** The whole log of one start. */
export type KeptLog = {
  /** Neither waits nor fails. */
  readonly say: LogFile['say'];
  /** Nothing more is said. Undefined when nothing was, or when it could not be kept. */
  readonly end: () => Promise<StoredArtifact | undefined>;
};

const artifactOf = ({ uri, sha256, bytes, mediaType, name }: Spooled): StoredArtifact => ({
  uri,
  sha256,
  bytes,
  mediaType,
  name,
});

/** What a capability gave need not be what its type says. */
const textOf = (outputs: unknown): string | undefined => {
  try {
    return JSON.stringify(outputs);
  } catch {
    return undefined;
  }
};

/** Keeps what starts print and give. What cannot be kept is told in the executor's own log, and changes no outcome. */
export const createKeeping = (spool: Spool, log: Logger) => {
  const trying = async <Made>(effect: string, make: () => Promise<Made>): Promise<Made | undefined> => {
    try {
      return await make();
    } catch (error) {
      log.error({ ...errorFields(error), effect }, 'a log or outputs could not be kept');
      return undefined;
    }
  };

  const logOf = (order: RunEffect, epoch: number): KeptLog => {
    let file: ReturnType<Spool['beginLog']>;
    // Most starts print nothing.
    let begun = false;
    const begin = (): void => {
      begun = true;
      try {
        file = spool.beginLog(order, epoch);
      } catch (error) {
        log.error({ ...errorFields(error), effect: order.id }, 'a log could not be begun');
      }
    };
    return {
      say: (stream, line) => {
        if (!begun) begin();
        file?.say(stream, line);
      },
      end: async () => {
        begun = true;
        const ended = file;
        file = undefined;
        if (ended === undefined) return undefined;
        const spooled = await trying(order.id, ended.end);
        return spooled && artifactOf(spooled);
      },
    };
  };

  const outputsOf = async (order: RunEffect, epoch: number, outputs: JsonObject): Promise<JsonObject> => {
    const { uses } = order.effect;
    const text = textOf(outputs);
    if (text === undefined) {
      log.error({ effect: order.id, uses }, 'outputs are no JSON, and are left out');
      return { truncated: true };
    }
    if (fits(uses, Buffer.byteLength(text))) return outputs;
    const spooled = await trying(order.id, () => spool.keep(order, epoch, text));
    return fitting(uses, outputs, spooled && artifactOf(spooled));
  };

  /** An outcome as the ledger can take it: with its log, and small enough for a message. */
  const fit = async (
    order: RunEffect,
    epoch: number,
    outcome: Outcome,
    printed: StoredArtifact | undefined,
  ): Promise<Outcome> => {
    switch (outcome.kind) {
      case 'applied': {
        const outputs = await outputsOf(order, epoch, outcome.outputs);
        return { ...outcome, outputs: withLog(outputs, printed) };
      }
      case 'failed_clean':
        return { ...outcome, error: fittingError(outcome.error) };
      case 'unknown':
        return { ...outcome, reason: cut(outcome.reason) };
    }
  };
  return { logOf, fit };
};

export type Keeping = ReturnType<typeof createKeeping>;
