import type { CommandOf } from '@holdpoint/contracts/catalog/commands';
import { circuitIdOf } from '@holdpoint/contracts/values/ids';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import { consumers } from '@holdpoint/contracts/bus/streams';
import { type ServiceLogic, SNAPSHOT_EVERY, snapshotEvery } from '@holdpoint/runtime/engine/core';
import type { Decider } from '@holdpoint/runtime/decider';
import { parseCommand } from '@holdpoint/runtime/engine/inbound';
import { isCircuit, recoveryDecider, type RecoveryMessage, type RecoveryState } from './attempts/decide.ts';
import { summarise } from './queries/summary.ts';

/** Circuits are addressed by their names, attempts by their task. */
const aggregateOf = ({ kind, payload }: CommandOf<'recovery'>): string => {
  switch (kind) {
    case 'circuit_report':
    case 'circuit_record_failure':
    case 'circuit_acquire':
      return circuitIdOf(payload.target);
    case 'assess':
    case 'record_attempt':
    case 'job_unstuck':
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
