import { circuitIdOf } from '@holdpoint/contracts/ids';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery';
import { consumers } from '@holdpoint/contracts/streams';
import { type ServiceLogic, SNAPSHOT_EVERY, snapshotEvery } from '@holdpoint/runtime/core';
import type { Decider } from '@holdpoint/runtime/decider';
import { parseCommand } from '@holdpoint/runtime/inbound';
import { recoveryDecider, type RecoveryMessage, type RecoveryState } from './domain/recovery.ts';
import { summarise } from './projections/circuits.ts';

export const createRecoveryLogic = (
  decider: Decider<RecoveryState, RecoveryMessage, RecoveryEvent>,
): ServiceLogic<RecoveryState, RecoveryMessage, RecoveryEvent, never> => ({
  kind: {
    service: 'recovery',
    aggregate: 'recovery',
    decider,
    summarise,
    snapshotDue: snapshotEvery(SNAPSHOT_EVERY),
  },
  inbound: consumers
    .filter(({ service }) => service === 'recovery')
    .map((consumer) => ({
      consumer,
      decode: (subject, body) => {
        const message = parseCommand('recovery', subject, body);
        const aggregate =
          message.kind === 'circuit' ? circuitIdOf(message.payload.target) : message.payload.task;
        return { aggregate, message };
      },
    })),
});

export const recoveryLogic = createRecoveryLogic(recoveryDecider);
