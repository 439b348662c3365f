import type { CommandOf } from '@holdpoint/contracts/catalog';
import { circuitIdOf } from '@holdpoint/contracts/ids';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery';
import { consumers } from '@holdpoint/contracts/streams';
import { type ServiceLogic, SNAPSHOT_EVERY, snapshotEvery } from '@holdpoint/runtime/core';
import type { Decider } from '@holdpoint/runtime/decider';
import { parseCommand } from '@holdpoint/runtime/inbound';
import { isCircuit, recoveryDecider, type RecoveryMessage, type RecoveryState } from './domain/recovery.ts';
import { summarise } from './projections/summary.ts';

/** Circuits are kept by their names, everything else by its task. */
const aggregateOf = ({ kind, payload }: CommandOf<'recovery'>): string => {
  switch (kind) {
    case 'circuit':
    case 'count':
    case 'enter':
      return circuitIdOf(payload.target);
    case 'assess':
    case 'record':
    case 'settle':
      return payload.task;
  }
};

export const createRecoveryLogic = (
  decider: Decider<RecoveryState, RecoveryMessage, RecoveryEvent>,
): ServiceLogic<RecoveryState, RecoveryMessage, RecoveryEvent, never> => ({
  kind: {
    service: 'recovery',
    aggregate: 'recovery',
    decider,
    summarise,
    taskOf: (id, state) => (isCircuit(state) ? undefined : id),
    snapshotDue: snapshotEvery(SNAPSHOT_EVERY),
  },
  inbound: consumers
    .filter(({ service }) => service === 'recovery')
    .map((consumer) => ({
      consumer,
      decode: (subject, body) => {
        const message = parseCommand('recovery', subject, body);
        return { aggregate: aggregateOf(message), message };
      },
    })),
});

export const recoveryLogic = createRecoveryLogic(recoveryDecider);
