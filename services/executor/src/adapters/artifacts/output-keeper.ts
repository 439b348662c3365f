import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Outcome } from '../../effect/decide.ts';
import { cut, fits, fitting, fittingError, withLog } from './fit-outputs.ts';
import type { LogFile } from './log-file.ts';
import type { Spool, SpooledArtifact } from './spool.ts';

export type KeptLog = {
  /** Never waits and never fails. */
  readonly say: LogFile['print'];
  /** No more lines follow. Resolves to undefined without output, and when the log could not be kept. */
  readonly end: () => Promise<StoredArtifact | undefined>;
};

const artifactOf = ({ uri, sha256, bytes, mediaType, name }: SpooledArtifact): StoredArtifact => ({
  uri,
  sha256,
  bytes,
  mediaType,
  name,
});

/** A capability may return values that its type does not allow. */
const textOf = (outputs: unknown): string | undefined => {
  try {
    return JSON.stringify(outputs);
  } catch {
    return undefined;
  }
};

/** Keeps the output and the results of starts. Failures are logged, and change no outcome. */
export const createOutputKeeper = (spool: Spool, log: Logger) => {
  const trying = async <Made>(effect: string, make: () => Promise<Made>): Promise<Made | undefined> => {
    try {
      return await make();
    } catch (error) {
      log.error({ ...errorFields(error), effect }, 'cannot keep a log or outputs');
      return undefined;
    }
  };

  const logOf = (order: RunEffect, epoch: number): KeptLog => {
    let file: ReturnType<Spool['beginLog']>;
    // Opened lazily: most starts print nothing.
    let begun = false;
    const begin = (): void => {
      begun = true;
      try {
        file = spool.beginLog(order, epoch);
      } catch (error) {
        log.error({ ...errorFields(error), effect: order.id }, 'cannot open a log');
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
      log.error({ effect: order.id, uses }, 'outputs are not JSON and are left out');
      return { truncated: true };
    }
    if (fits(uses, Buffer.byteLength(text))) return outputs;
    const spooled = await trying(order.id, () => spool.keep(order, epoch, text));
    return fitting(uses, outputs, spooled && artifactOf(spooled));
  };

  /** Adds the log to an outcome, and shortens it until it fits into a message. */
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

export type OutputKeeper = ReturnType<typeof createOutputKeeper>;
