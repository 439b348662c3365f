import { z } from 'zod';
import { AgentName } from '../values/agent.ts';
import { AccessTokenId } from '../values/ids.ts';
import { WAIT_MAX_MS } from '../workflow/side-effect.ts';

/**
 * What a token is good for: to see what waits, to decide, to add and revoke standing rules, to make and revoke tokens, and to
 * read the audit log. Of those for tasks, one is to see them, what they print and how the services do; one to steer them; one to
 * start new ones, and so to have executors run what their inputs say; and one to open and close circuits and to settle dead letters.
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
]);
export type Scope = z.infer<typeof Scope>;

/** A token to be made. The secret never leaves whoever makes it: what is sent is its SHA-256. */
export const CreateAccessToken = z.object({
  name: z.string().min(1).max(100),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, '64 hex digits'),
  /** Whose it is; whoever makes it, when left out. */
  principal: z
    .string()
    .min(1)
    .max(100)
    .regex(/^[^\s:,][^\n\r,:]*$/, 'a name without colons, commas and line ends')
    .optional(),
  /** For somebody who is in no directory. Those of whoever makes it at the most, unless he is an administrator. */
  groups: z.array(z.string().min(1).max(100)).max(50).optional(),
  scopes: z.array(Scope).min(1).optional(),
  /** Whoever shows it is this agent of the principal's, and decides on nothing that the principal or an agent of his has asked for. */
  agent: AgentName.optional(),
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
  /** Of its own: where the directory knows the principal, what it says there counts instead. */
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

/** A token as the API shows it: never the secret, nor its hash. */
export const AccessTokenView = z.object({
  ...shown,
  status: z.enum(['active', 'revoked']),
  createdBy: z.string(),
  createdAt: Time,
  revokedBy: z.string().optional(),
});
export type AccessTokenView = z.infer<typeof AccessTokenView>;
