import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import type { Pool } from 'pg';
import { storeUses } from '../../queries/tokens.ts';

const STORE_EVERY_MS = 60_000;

/** Gathers the uses of tokens and stores them once a minute: a use of a token writes nothing itself. */
export const createTokenUses = (pool: Pool, log: Logger) => {
  let uses = new Map<string, number>();
  const store = async (): Promise<void> => {
    if (uses.size === 0) return;
    const gathered = uses;
    uses = new Map();
    await storeUses(pool, gathered);
  };
  const periodic = startPeriodic('uses of tokens', STORE_EVERY_MS, store, log);
  return {
    note: (id: string): void => void uses.set(id, Date.now()),
    stop: async (): Promise<void> => {
      await periodic.stop();
      await store().catch((error: unknown) => log.warn(errorFields(error), 'uses of tokens are lost'));
    },
  };
};
