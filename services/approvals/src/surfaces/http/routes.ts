import type { ENDPOINT_SCOPES } from '@holdpoint/contracts/catalog/scopes';

/** Only endpoints with a scope have a route. */
type Endpoint = keyof (typeof ENDPOINT_SCOPES)['approvals'];

export type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/api/v1`. `:name` is a field of the request. */
  readonly path: string;
  readonly endpoint: Endpoint;
};

/**
 * HTTP routes of the bus endpoints. Fields come from the path, and from the query or, with `POST`, the body.
 */
export const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/approvals', endpoint: 'list' },
  { method: 'GET', path: '/approvals/:id', endpoint: 'get' },
  { method: 'POST', path: '/approvals/:id/decisions', endpoint: 'decide' },
  { method: 'POST', path: '/decisions', endpoint: 'decide_many' },
  { method: 'GET', path: '/rules', endpoint: 'rule_list' },
  { method: 'POST', path: '/rules', endpoint: 'rule_add' },
  { method: 'POST', path: '/rules/test', endpoint: 'rule_test' },
  { method: 'DELETE', path: '/rules/:id', endpoint: 'rule_revoke' },
  { method: 'POST', path: '/check', endpoint: 'check' },
  { method: 'GET', path: '/policy', endpoint: 'policy_get' },
  { method: 'POST', path: '/policy/test', endpoint: 'policy_test' },
  { method: 'GET', path: '/tokens', endpoint: 'token_list' },
  { method: 'POST', path: '/tokens', endpoint: 'token_create' },
  { method: 'DELETE', path: '/tokens/:id', endpoint: 'token_revoke' },
  { method: 'GET', path: '/audit', endpoint: 'audit' },
  { method: 'GET', path: '/whoami', endpoint: 'whoami' },
  { method: 'GET', path: '/keys', endpoint: 'keys' },
];
