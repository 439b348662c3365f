import type { Scope } from '@holdpoint/contracts/approval/access-token';
import type { Principal } from '../../approval/state.ts';

/** Credentials of a caller and their source, whose failures are limited. */
export type Credentials = {
  /** `Bearer <token>`, as sent. */
  readonly authorization: string | undefined;
  /** Address of an HTTP caller; one constant for all callers on the bus. */
  readonly source: string;
};

/** Authenticates and authorizes every command of a person, on every surface. */
export interface Identity {
  /**
   * Throws `APPROVALS_UNAUTHENTICATED` for a missing or wrong token alike, `APPROVALS_SCOPE` when the token
   * lacks the scope, `APPROVALS_TOO_MANY_ATTEMPTS` with `retryAfterSeconds` in its details, and
   * `RUNTIME_UNAVAILABLE` when the token cannot be checked now. Rights may change: call it for every command,
   * also on a long connection. Without a scope, any valid token suffices.
   */
  authenticate(credentials: Credentials, scope?: Scope): Promise<Principal>;
  /** The person that a Discord user is mapped to. */
  ofDiscord(user: string): Principal | undefined;
  isAdministrator(principal: Principal): boolean;
  /** Whether the directory lists this name. Its entry then replaces the groups of tokens. */
  knows(name: string): boolean;
  /** Whether this person was removed and not added again. */
  isRemoved(name: string): boolean;
}
