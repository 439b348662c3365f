import { IDENTITY_HEADER, takesIdentity } from '@holdpoint/contracts/approval/identity';
import type { Api } from '@holdpoint/contracts/catalog/api';
import { HEADERS, SURFACE_HEADER } from '@holdpoint/contracts/bus/cloudevents';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { headers as createHeaders, type MsgHdrs } from '@nats-io/transport-node';

/** Approvals endpoints that need the caller's identity. Other endpoints never receive the token. */
const NEEDS_TOKEN: Readonly<Record<keyof Api['approvals'], boolean>> = {
  info: false,
  counts: false,
  retention: false,
  purge: false,
  decide: true,
  decide_many: true,
  get: false,
  list: false,
  whoami: true,
  identify: true,
  executor_join: false,
  executor_list: false,
  executor_revoke: true,
  executor_forget: true,
  check: false,
  rule_add: true,
  rule_revoke: true,
  rule_list: false,
  rule_test: false,
  policy_get: false,
  policy_test: true,
  token_create: true,
  token_revoke: true,
  token_list: true,
  person_list: true,
  person_add: true,
  person_change: true,
  person_remove: true,
  capability_register: true,
  capability_withdraw: true,
  capability_list: false,
  callbacks: false,
  audit: true,
  keys: false,
  dead_letter_list: false,
  dead_letter_get: false,
  dead_letter_resolve: false,
};

/** Whether an endpoint of approvals takes the token of its caller. An older client does not know every endpoint. */
export const needsToken = (endpoint: string): boolean =>
  Object.hasOwn(NEEDS_TOKEN, endpoint) && NEEDS_TOKEN[endpoint as keyof typeof NEEDS_TOKEN];

const what = (endpoint: string): string => (endpoint.startsWith('decide') ? 'a decision' : 'this');

/** Headers of a request. Throws `APPROVALS_UNAUTHENTICATED` if the endpoint needs a missing token. */
export const headersFor = (
  service: ServiceName,
  endpoint: string,
  {
    requestId,
    token,
    identity,
  }: {
    readonly requestId?: string | undefined;
    readonly token?: string | undefined;
    /** The identity assertion of the caller. */
    readonly identity?: string | undefined;
  },
): MsgHdrs => {
  const headers = createHeaders();
  if (requestId !== undefined) headers.set(HEADERS.id, requestId);
  if (identity !== undefined && takesIdentity(service, endpoint)) headers.set(IDENTITY_HEADER, identity);
  if (service !== 'approvals') return headers;
  headers.set(SURFACE_HEADER, 'cli');
  if (!needsToken(endpoint)) return headers;
  if (token === undefined)
    throw new HoldpointError(
      'APPROVALS_UNAUTHENTICATED',
      `${what(endpoint)} needs a token: set HOLDPOINT_TOKEN or HOLDPOINT_TOKEN_FILE`,
    );
  headers.set('authorization', `Bearer ${token}`);
  return headers;
};
