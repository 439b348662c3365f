import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { readState } from '@holdpoint/runtime/store/read';
import type { Office } from '../surfaces/surface-deps.ts';
import { previousOf } from '../queries/previous.ts';
import { approvalView, listRequests } from '../queries/requests.ts';
import type { ApprovalsEndpoints } from './deciding.ts';

export const inboxEndpoints = ({ pool, decider }: Office): Pick<ApprovalsEndpoints, 'get' | 'list'> => ({
  get: {
    query: async ({ id }) => {
      const state = await readState(pool, decider, id);
      if (state.status !== 'pending' && state.status !== 'closed')
        throw new HoldpointError('APPROVALS_UNKNOWN', `no approval is called ${id}`);
      const view = approvalView(state);
      const previous = await previousOf(pool, decider, view);
      return { ...view, ...(previous && { previous }) };
    },
  },
  list: { query: (page) => listRequests(pool, page) },
});
