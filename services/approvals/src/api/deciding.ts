import { HEADERS, SURFACE_HEADER, traceOf } from '@holdpoint/contracts/bus/cloudevents';
import type { Caller, OwnEndpoints } from '@holdpoint/runtime/bus/api';
import { Scope } from '@holdpoint/contracts/approval/access-token';
import type { Via } from '../submit-decision.ts';
import type { Principal } from '../approval/state.ts';
import type { DeskMessage } from '../aggregates.ts';
import { BUS, type Office, surfaceOf } from '../surfaces/surface-deps.ts';

export type ApprovalsEndpoints = OwnEndpoints<'approvals', DeskMessage>;

/** Whose call it is. */
export const callerOf = (
  { identity }: Office,
  { header, source = BUS }: Caller,
  scope: Scope,
): Promise<Principal> => identity.authenticate({ authorization: header('authorization'), source }, scope);

const viaOf = ({ header, source }: Caller): Via => ({
  surface: surfaceOf(header(SURFACE_HEADER), source === undefined ? 'bus' : 'http'),
  trace: traceOf(header(HEADERS.trace)),
});

export const decidingEndpoints = (
  office: Office,
): Pick<ApprovalsEndpoints, 'decide' | 'decide_many' | 'whoami'> => ({
  decide: {
    query: async (payload, caller) =>
      office.decisions.decide(await callerOf(office, caller, 'approvals:decide'), payload, viaOf(caller)),
  },
  decide_many: {
    query: async (payload, caller) =>
      office.decisions.decideMany(await callerOf(office, caller, 'approvals:decide'), payload, viaOf(caller)),
  },
  whoami: {
    query: async (_, caller) => {
      const principal = await callerOf(office, caller, 'approvals:read');
      const { name, groups, roles = [], scopes = Scope.options, agent } = principal;
      return {
        name,
        groups: [...groups],
        roles: [...roles],
        scopes: [...scopes],
        administrator: office.identity.isAdministrator(principal),
        ...(agent !== undefined && { agent }),
      };
    },
  },
});
