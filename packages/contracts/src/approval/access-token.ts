import { z } from 'zod';
import { AgentName } from '../values/agent.ts';
import { isPlainName, NAME_RULE, PersonName } from '../values/person.ts';
import { RemoteName } from '../effect/remote-name.ts';
import { AccessTokenId } from '../values/ids.ts';
import { WAIT_MAX_MS } from '../workflow/side-effect.ts';

/**
 * Scopes of an access token: read and decide approvals, write standing rules, manage tokens, read the
 * audit log. `tasks:read` shows tasks, their output and the state of services; `tasks:write` steers tasks;
 * `tasks:submit` starts tasks, whose inputs run on executors; `operations:write` sets circuits and
 * resolves dead letters; `executors:write` revokes the keys
 * of executors; `people:write` adds, changes and removes people; `capabilities:write` registers remote
 * capabilities; `effects:claim` carries out their effects.
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
  'people:write',
  'capabilities:write',
  'effects:claim',
]);
export type Scope = z.infer<typeof Scope>;

/** Time in which the code of a sign-in link has to be used, in milliseconds. */
export const SIGN_IN_CODE_MS = 300_000;

/** Lifetime of a session that a sign-in link has opened, in milliseconds. */
export const SESSION_MS = 43_200_000;

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
  /** Names of the remote capabilities whose effects it may claim; default: all, if its scopes permit claims. */
  claims: z.array(RemoteName).min(1).max(50).optional(),
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
  /** The secret is a code: it opens one session of the console within {@link SIGN_IN_CODE_MS}. */
  signIn: z.literal(true).optional(),
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
  claims: z.array(RemoteName).optional(),
  agent: AgentName.optional(),
  expiresAt: Time.optional(),
} as const;

export const TokenCreated = z.object({
  type: z.literal('token_created'),
  ...shown,
  /** Of the secret, or of the code of a sign-in link. */
  sha256: z.string(),
  signIn: z.literal(true).optional(),
  by: z.string(),
  at: Time,
});
export const TokenRevoked = z.object({
  type: z.literal('token_revoked'),
  id: AccessTokenId,
  by: z.string(),
  at: Time,
});
/** The code of a sign-in link became a session with a secret of its own. It counts once. */
export const TokenRedeemed = z.object({
  type: z.literal('token_redeemed'),
  id: AccessTokenId,
  sha256: z.string(),
  expiresAt: Time,
  at: Time,
});
export const TokenEvent = z.discriminatedUnion('type', [TokenCreated, TokenRedeemed, TokenRevoked]);
export type TokenEvent = z.infer<typeof TokenEvent>;

/** A token as the API shows it: without secret and hash. */
export const AccessTokenView = z.object({
  ...shown,
  status: z.enum(['active', 'revoked']),
  createdBy: z.string(),
  createdAt: Time,
  revokedBy: z.string().optional(),
  /** A sign-in link: its code still waits, or it has become a session of the console. */
  signIn: z.enum(['code', 'session']).optional(),
  /** The latest use, to the minute; absent before the first one. */
  usedAt: Time.optional(),
});
export type AccessTokenView = z.infer<typeof AccessTokenView>;
