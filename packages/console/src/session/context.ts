import { randomUUID } from '../audit/node-crypto.ts';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Watch } from '../live/watch.ts';
import type { Caller } from './call.ts';

export type Me = ApiResponse<'approvals', 'whoami'>;

/** The pending requests; undefined before they are loaded. */
export type Pending = {
  readonly items: readonly ApprovalView[] | undefined;
  readonly error: string | undefined;
  /** There are more than the page loads. */
  readonly isCut: boolean;
  readonly load: () => Promise<void>;
};

/** The signed-in user, with the client and the updates of their session. */
export type Session = {
  readonly caller: Caller;
  readonly me: Me;
  readonly watch: Watch;
  readonly pending: Pending;
  /** Announces a text at the edge of the page, also to screen readers. */
  readonly say: (text: string, tone?: 'good' | 'bad') => void;
  readonly signOut: () => void;
};

export const SessionContext = createContext<Session | undefined>(undefined);

export const useSession = (): Session => {
  const session = useContext(SessionContext);
  if (session === undefined) throw new TypeError('used outside of a session');
  return session;
};

/** Whether the token has a scope. Older services without the scope refuse on their own. */
export const mayDo = ({ scopes }: Me, scope: string): boolean =>
  (scopes as readonly string[]).includes(scope);

/** A key for one user action, kept for retries. */
export const createKey = randomUUID;
