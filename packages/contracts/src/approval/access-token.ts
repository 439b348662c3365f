import { z } from 'zod';
import { AgentName } from '../values/agent.ts';
import { isPlainName, NAME_RULE, PersonName } from '../values/person.ts';
import { AccessTokenId } from '../values/ids.ts';
import { WAIT_MAX_MS } from '../workflow/side-effect.ts';

/**
 * Scopes of an access token: read and decide approvals, write standing rules, manage tokens, read the
 * audit log. `tasks:read` shows tasks, their output and the state of services; `tasks:write` steers tasks;
 * `tasks:submit` starts tasks, whose inputs run on executors; `operations:write` sets circuits and
 * resolves dead letters; `executors:write` revokes the keys
 * of executors.
 */
export const Scope = z.enum([
  'approvals:read',
  'approvals:decide',
  'rules:write',
  'tokens:write',
  'audit:read',
  'tasks:read',
  'tasks:write',
  'operations:write',
  'tasks:submit',
  'executors:write',
]);
export type Scope = z.infer<typeof Scope>;

/** A token to create. Only the SHA-256 of the secret is sent; the secret stays with its creator. */
export const CreateAccessToken = z.object({
  name: z.string().min(1).max(100),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, '64 hex digits'),
  /** Owner of the token; default: its creator. */
  principal: PersonName.optional(),
  /**
   * For principals outside the directory. Creators can only grant their own groups, unless they are
   * administrators.
   */
  groups: z.array(z.string().min(1).max(100)).max(50).optional(),
  scopes: z.array(Scope).min(1).optional(),
  /**
   * The bearer is this agent of the principal. It cannot decide on requests of the principal or of their
   * agents.
   */
  agent: AgentName.refine(isPlainName, NAME_RULE).optional(),
  expiresInMs: z
    .int()
    .min(60_000)
    .max(13 * WAIT_MAX_MS)
    .optional(),
});
export type CreateAccessToken = z.infer<typeof CreateAccessToken>;

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

const shown = {
  id: AccessTokenId,
  name: z.string(),
  principal: z.string(),
  /** Own groups of the token. The directory overrides them when it knows the principal. */
  groups: z.array(z.string()),
  scopes: z.array(Scope),
  agent: AgentName.optional(),
  expiresAt: Time.optional(),
} as const;

export const TokenCreated = z.object({
  type: z.literal('token_created'),
  ...shown,
  sha256: z.string(),
  by: z.string(),
  at: Time,
});
export const TokenRevoked = z.object({
  type: z.literal('token_revoked'),
  id: AccessTokenId,
  by: z.string(),
  at: Time,
});
export const TokenEvent = z.discriminatedUnion('type', [TokenCreated, TokenRevoked]);
export type TokenEvent = z.infer<typeof TokenEvent>;

/** A token as the API shows it: without secret and hash. */
export const AccessTokenView = z.object({
  ...shown,
  status: z.enum(['active', 'revoked']),
  createdBy: z.string(),
  createdAt: Time,
  revokedBy: z.string().optional(),
});
export type AccessTokenView = z.infer<typeof AccessTokenView>;
