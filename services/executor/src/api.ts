import type { EffectEvent } from '@holdpoint/contracts/effect';
import { HoldpointError } from '@holdpoint/contracts/errors';
import type { Decider } from '@holdpoint/runtime/decider';
import type { Endpoints } from '@holdpoint/runtime/nats/api';
import { readState } from '@holdpoint/runtime/postgres/read';
import type { Pool } from 'pg';
import type { EffectMessage, EffectWork } from './domain/effect.ts';
import type { EffectState } from './domain/ledger.ts';
import { effectView, listEffects } from './projections/effects.ts';

export const endpoints = (
  pool: Pool,
  decider: Decider<EffectState, EffectMessage, EffectEvent, EffectWork>,
): Endpoints<'executor', EffectMessage> => ({
  get: {
    query: async ({ id }) => {
      const view = effectView(await readState(pool, decider, id));
      if (view === undefined)
        throw new HoldpointError('EXECUTOR_UNKNOWN_EFFECT', `no effect is called ${id}`);
      return view;
    },
  },
  list: { query: async ({ task }) => ({ items: await listEffects(pool, task) }) },
});
