import { circuitIdOf } from '@holdpoint/contracts/ids';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery';
import type { Decider } from '@holdpoint/runtime/decider';
import type { Endpoints } from '@holdpoint/runtime/nats/api';
import { readState } from '@holdpoint/runtime/postgres/read';
import type { Pool } from 'pg';
import { isCircuit, type RecoveryMessage, type RecoveryState } from './domain/recovery.ts';
import { listCircuits } from './projections/circuits.ts';

export const endpoints = (
  pool: Pool,
  decider: Decider<RecoveryState, RecoveryMessage, RecoveryEvent>,
): Endpoints<'recovery', RecoveryMessage> => ({
  history: {
    query: async ({ task }) => {
      const state = await readState(pool, decider, task);
      return { items: isCircuit(state) ? [] : [...state.attempts] };
    },
  },
  circuits: { query: (page) => listCircuits(pool, page) },
  circuit: {
    command: (payload) => ({
      aggregate: circuitIdOf(payload.target),
      message: { kind: 'set_circuit', payload },
    }),
  },
});
