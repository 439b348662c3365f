import type { RecoveryMessage } from './domain/recovery.ts';
import { recoveryDecider } from './domain/recovery.ts';
import type { Endpoints } from '@holdpoint/runtime/nats/api';
import { readState } from '@holdpoint/runtime/postgres/read';
import type { Pool } from 'pg';

export const endpoints = (pool: Pool): Endpoints<'recovery', RecoveryMessage> => ({
  history: {
    query: async ({ task }) => ({ items: [...(await readState(pool, recoveryDecider, task)).attempts] }),
  },
});
