import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Principal } from '../../approval/state.ts';
import { type ConnectionSlot, createConnectionLimit } from '../websocket/connection-limit.ts';

/** Waiting requests in total and for each token. */
export const POLLS = { all: 5_000, token: 1_000 } as const;

const ALL = 'all';

/** Places for requests that wait. A person with a token of the principals file has one budget. */
export const createPolls = (max: { readonly all: number; readonly token: number } = POLLS) => {
  const all = createConnectionLimit(max.all);
  const tokens = createConnectionLimit(max.token);
  const refused = (text: string) => new HoldpointError('CONTRACT_TOO_MANY_REQUESTS', text);
  return {
    /** Throws `CONTRACT_TOO_MANY_REQUESTS`. */
    take: ({ token, name }: Pick<Principal, 'token' | 'name'>): ConnectionSlot => {
      const one = all.take(ALL);
      if (one === undefined) throw refused('too many requests wait: try again later');
      const own = tokens.take(token ?? `person ${name}`);
      if (own === undefined) {
        one.release();
        throw refused(`at most ${String(max.token)} requests of one token may wait at once`);
      }
      return {
        release: () => {
          own.release();
          one.release();
        },
      };
    },
  };
};
