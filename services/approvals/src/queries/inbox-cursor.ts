import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { TOKEN } from '@holdpoint/contracts/values/ids';

/** How a list is ordered: what waits in one of three ways, what is decided in two. */
export type Order = 'oldest' | 'expiring' | 'risk' | 'decided' | 'newest';

/** A place in an ordered list. `rank` comes first, and is 0 where the order has none; `at` is in epoch milliseconds. */
export type Place = { readonly rank: number; readonly at: number; readonly id: string };

/** Before everything. */
export const START: Place = { rank: 0, at: -1, id: '' };

/** After everything: where whoever reads backwards begins. */
const END: Place = { rank: 0, at: Number.MAX_SAFE_INTEGER, id: '' };

export const startOf = (order: Order): Place => (order === 'newest' ? END : START);

const LETTERS: Readonly<Record<Order, string>> = {
  oldest: 'o',
  expiring: 'e',
  risk: 'r',
  decided: 'd',
  newest: 'n',
};

export const encodePlace = (order: Order, { rank, at, id }: Place): string =>
  `${LETTERS[order]}${String(rank)}.${String(at)}.${id}`;

/** Reads what `encodePlace` wrote for the same order. Throws `CONTRACT_INVALID`: a place in another order is none in this. */
export const decodePlace = (order: Order, text: string): Place => {
  const [, letter, rank, at, id] = /^([a-z])(\d)\.(\d{1,16})\.(.+)$/.exec(text) ?? [];
  if (
    letter !== LETTERS[order] ||
    rank === undefined ||
    at === undefined ||
    id === undefined ||
    !TOKEN.test(id)
  )
    throw new HoldpointError('CONTRACT_INVALID', 'after: not the `next` of a page in this order');
  return { rank: Number(rank), at: Number(at), id };
};
