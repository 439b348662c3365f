import type { Office } from './surfaces/surface-deps.ts';
import { accessTokenEndpoints } from './api/access-tokens.ts';
import { auditEndpoints } from './api/audit.ts';
import { type ApprovalsEndpoints, decidingEndpoints } from './api/deciding.ts';
import { inboxEndpoints } from './api/inbox.ts';
import { ruleEndpoints } from './api/rules.ts';

/** What the service answers on the bus. */
export const endpoints = (office: Office): ApprovalsEndpoints => ({
  ...decidingEndpoints(office),
  ...inboxEndpoints(office),
  ...ruleEndpoints(office),
  ...accessTokenEndpoints(office),
  ...auditEndpoints(office),
});
