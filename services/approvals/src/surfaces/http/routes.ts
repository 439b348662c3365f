import type { Api } from '@holdpoint/contracts/catalog/api';
import type { Scope } from '@holdpoint/contracts/approval/access-token';

type Endpoint = keyof Api['approvals'];

export type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/api/v1`. `:name` is a field of the request. */
  readonly path: string;
  readonly endpoint: Endpoint;
  /** The required scope of endpoints that need none on the bus. */
  readonly scope?: Scope;
};

const reads = { scope: 'approvals:read' } as const;

/**
 * HTTP routes of the bus endpoints. Fields come from the path, and from the query or, with `POST`, the body.
 */
export const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/approvals', endpoint: 'list', ...reads },
  { method: 'GET', path: '/approvals/:id', endpoint: 'get', ...reads },
  { method: 'POST', path: '/approvals/:id/decisions', endpoint: 'decide' },
  { method: 'POST', path: '/decisions', endpoint: 'decide_many' },
  { method: 'GET', path: '/rules', endpoint: 'rule_list', ...reads },
  { method: 'POST', path: '/rules', endpoint: 'rule_add' },
  { method: 'POST', path: '/rules/test', endpoint: 'rule_test', ...reads },
  { method: 'DELETE', path: '/rules/:id', endpoint: 'rule_revoke' },
  { method: 'POST', path: '/check', endpoint: 'check', ...reads },
  { method: 'GET', path: '/tokens', endpoint: 'token_list' },
  { method: 'POST', path: '/tokens', endpoint: 'token_create' },
  { method: 'DELETE', path: '/tokens/:id', endpoint: 'token_revoke' },
  { method: 'GET', path: '/audit', endpoint: 'audit' },
  { method: 'GET', path: '/whoami', endpoint: 'whoami' },
  { method: 'GET', path: '/keys', endpoint: 'keys', ...reads },
];
