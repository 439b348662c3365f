import type { Office } from '../office.ts';
import { accessTokenEndpoints } from './access-tokens.ts';
import { auditEndpoints } from './audit.ts';
import { type ApprovalsEndpoints, decidingEndpoints } from './deciding.ts';
import { inboxEndpoints } from './inbox.ts';
import { ruleEndpoints } from './rules.ts';

/** What the service answers on the bus. */
export const endpoints = (office: Office): ApprovalsEndpoints => ({
  ...decidingEndpoints(office),
  ...inboxEndpoints(office),
  ...ruleEndpoints(office),
  ...accessTokenEndpoints(office),
  ...auditEndpoints(office),
});
