import { consumers } from '@holdpoint/contracts/streams';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery';
import { type ServiceLogic, SNAPSHOT_EVERY, snapshotEvery } from '@holdpoint/runtime/core';
import { parseCommand } from '@holdpoint/runtime/inbound';
import { recoveryDecider, type RecoveryMessage, type RecoveryState } from './domain/recovery.ts';

export const recoveryLogic: ServiceLogic<RecoveryState, RecoveryMessage, RecoveryEvent, never> = {
  kind: {
    service: 'recovery',
    aggregate: 'recovery',
    decider: recoveryDecider,
    summarise: () => ({ status: 'assessed', view: null }),
    snapshotDue: snapshotEvery(SNAPSHOT_EVERY),
  },
  inbound: consumers
    .filter(({ service }) => service === 'recovery')
    .map((consumer) => ({
      consumer,
      decode: (subject, body) => {
        const command = parseCommand('recovery', subject, body);
        return { aggregate: command.payload.task, message: command };
      },
    })),
};
