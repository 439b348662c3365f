import type { RequestSource } from '@holdpoint/contracts/approval/identity';
import type { Scope } from '@holdpoint/contracts/approval/access-token';
import { ENDPOINT_SCOPES, type Needed } from '@holdpoint/contracts/catalog/scopes';
import type { Caller } from '@holdpoint/runtime/bus/api';
import type { Principal } from './approval/state.ts';
import { BUS, type SurfaceDeps } from './surfaces/surface-deps.ts';

/** Authenticates the caller. Throws `HoldpointError` as `Identity.authenticate` does. */
export const callerOf = (
  { identity }: SurfaceDeps,
  { header, source = BUS }: Caller,
  scope?: Scope,
): Promise<Principal> => identity.authenticate({ authorization: header('authorization'), source }, scope);

/** Authenticates the caller of one of this service's endpoints, with the scope that the endpoint needs. */
export const callerFor = (
  deps: SurfaceDeps,
  caller: Caller,
  endpoint: keyof (typeof ENDPOINT_SCOPES)['approvals'],
): Promise<Principal> => {
  const needed: Needed = ENDPOINT_SCOPES.approvals[endpoint];
  return callerOf(deps, caller, needed === 'any' ? undefined : needed);
};

/** From where a request came. Requests over the bus have no address. */
export const requestSourceOf = ({ source }: Pick<Caller, 'source'>): RequestSource =>
  source === undefined ? { via: 'nats' } : { via: 'http', address: source };
