import type { Office } from '../surfaces/surface-deps.ts';
import { listAudit } from '../queries/audit.ts';
import { type ApprovalsEndpoints, callerOf } from './deciding.ts';

export const auditEndpoints = (office: Office): Pick<ApprovalsEndpoints, 'audit' | 'keys'> => ({
  audit: {
    query: async (page, caller) => {
      await callerOf(office, caller, 'audit:read');
      return listAudit(office.pool, page);
    },
  },
  // Public keys are for everybody: whoever relies on them goes by the signatures.
  keys: { query: ({ nonce }) => Promise.resolve(office.keyring.publish(Date.now(), nonce)) },
});
