import { HoldpointError } from '@holdpoint/contracts/errors';
import type { Decider } from '@holdpoint/runtime/decider';
import type { Endpoints } from '@holdpoint/runtime/nats/api';
import { readState } from '@holdpoint/runtime/postgres/read';
import type { ApprovalEvent } from '@holdpoint/contracts/approval';
import type { Pool } from 'pg';
import type { ApprovalMessage, ApprovalState, Principal } from './domain/approval.ts';
import { approvalView, listRequests } from './projections/requests.ts';

type Authenticate = (authorization: string | undefined) => Principal;

export const endpoints = (
  pool: Pool,
  decider: Decider<ApprovalState, ApprovalMessage, ApprovalEvent>,
  authenticate: Authenticate,
): Endpoints<'approvals', ApprovalMessage> => ({
  decide: {
    command: (payload, { header }) => ({
      aggregate: payload.id,
      message: { kind: 'decide', payload, by: authenticate(header('authorization')) },
    }),
  },
  get: {
    query: async ({ id }) => {
      const state = await readState(pool, decider, id);
      if (state.status === 'absent' || state.status === 'withdrawn')
        throw new HoldpointError('APPROVALS_UNKNOWN', `no approval is called ${id}`);
      return approvalView(state);
    },
  },
  list: { query: (page) => listRequests(pool, page) },
});
