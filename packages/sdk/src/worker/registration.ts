import { hasCode } from '@holdpoint/contracts/values/errors';
import type { ProgramDefinition } from '@holdpoint/contracts/program/definition';
import type { NatsConnection } from '@nats-io/transport-node';
import type { AskService } from '../bus/ask-service.ts';

const AGAIN_MS = 60_000;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 10_000;
/** Fits into one request. */
const AT_ONCE = 20;

/** Registers versions, and again when the orchestrator or the bus was restored. */
export const keepRegistered = (
  connection: NatsConnection,
  ask: AskService,
  programs: readonly ProgramDefinition[],
  onTrouble: (error: unknown) => void,
) => {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let retryMs = FIRST_RETRY_MS;
  let isFirst = true;
  let running = false;
  let settle: { readonly done: () => void; readonly refused: (error: unknown) => void };
  const ready = new Promise<void>((done, refused) => (settle = { done, refused }));
  // Without a reader of `ready`, the log reports the error.
  ready.catch(() => undefined);

  const register = async (): Promise<void> => {
    for (let from = 0; from < programs.length; from += AT_ONCE)
      await ask('orchestrator', 'program_register', { programs: programs.slice(from, from + AT_ONCE) });
  };

  const run = async (): Promise<void> => {
    clearTimeout(timer);
    running = true;
    let againMs = AGAIN_MS;
    try {
      await register();
      settle.done();
      isFirst = false;
      retryMs = FIRST_RETRY_MS;
    } catch (error) {
      const isPassing = hasCode(error, 'RUNTIME_UNAVAILABLE');
      if (!isPassing) settle.refused(error);
      if (!isPassing || isFirst) onTrouble(error);
      isFirst = false;
      if (isPassing) {
        againMs = retryMs;
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
      }
    }
    running = false;
    if (!stopped) timer = setTimeout(() => void run(), againMs).unref();
  };

  const watch = async (): Promise<void> => {
    for await (const { type } of statuses) if (type === 'reconnect' && !stopped) void run();
  };
  const statuses = connection.status();
  void watch();
  void run();
  return {
    /** Resolves with the first registration, or when it stops. Rejects when the orchestrator refuses it. */
    ready,
    /** Registers now: the orders of a version cannot be pulled, perhaps because the bus has lost its consumer. */
    again: (): void => {
      if (!stopped && !isFirst && !running) void run();
    },
    stop: (): void => {
      stopped = true;
      clearTimeout(timer);
      settle.done();
    },
  };
};
