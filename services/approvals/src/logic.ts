import type { ApprovalEvent } from '@holdpoint/contracts/approval';
import { consumers } from '@holdpoint/contracts/streams';
import type { Decider } from '@holdpoint/runtime/decider';
import { type ServiceLogic, SNAPSHOT_EVERY, snapshotEvery } from '@holdpoint/runtime/core';
import { parseCommand } from '@holdpoint/runtime/inbound';
import type { ApprovalMessage, ApprovalState } from './domain/approval.ts';
import { summarise } from './projections/requests.ts';

export const approvalsLogic = (
  decider: Decider<ApprovalState, ApprovalMessage, ApprovalEvent>,
): ServiceLogic<ApprovalState, ApprovalMessage, ApprovalEvent, never> => ({
  kind: {
    service: 'approvals',
    aggregate: 'approval',
    decider,
    summarise,
    snapshotDue: snapshotEvery(SNAPSHOT_EVERY),
  },
  inbound: consumers
    .filter(({ service }) => service === 'approvals')
    .map((consumer) => ({
      consumer,
      decode: (subject, body) => {
        const command = parseCommand('approvals', subject, body);
        return { aggregate: command.payload.id, message: command };
      },
    })),
});
