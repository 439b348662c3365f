import type { Scope } from '@holdpoint/contracts/approval/access-token';
import type { Principal } from '../../approval/state.ts';

/** What a caller has shown, and from where: whoever guesses is slowed down. */
export type Credentials = {
  /** `Bearer <token>`, as it came. */
  readonly authorization: string | undefined;
  /** The address of a caller over HTTP; one name for everybody on the bus. */
  readonly source: string;
};

/** Who may do what. Everything that a person does goes through here, whatever surface it came by. */
export interface Identity {
  /**
   * Throws `APPROVALS_UNAUTHENTICATED`, the same for a wrong token as for none; `APPROVALS_SCOPE` when the token is not for
   * this; `APPROVALS_TOO_MANY_ATTEMPTS` with `retryAfterSeconds` in its details; `RUNTIME_UNAVAILABLE` when it cannot be known
   * now. What somebody may do changes: it is asked anew for everything that he does, however long a connection lasts.
   */
  authenticate(credentials: Credentials, scope: Scope): Promise<Principal>;
  /** Whoever a Discord user is mapped to. */
  ofDiscord(user: string): Principal | undefined;
  isAdministrator(principal: Principal): boolean;
  /** The directory has somebody of this name: what it says of him counts, and nothing else. */
  knows(name: string): boolean;
}
