import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { TOKEN } from '@holdpoint/contracts/bus/subjects';

/** Orders of pending requests (three) and decided ones (two). */
export type Order = 'oldest' | 'expiring' | 'risk' | 'decided' | 'newest';

/**
 * A cursor in an ordered list. `rank` comes first, and is 0 in orders without one; `at` is in epoch
 * milliseconds.
 */
export type Cursor = { readonly rank: number; readonly at: number; readonly id: string };

export const START: Cursor = { rank: 0, at: -1, id: '' };

const END: Cursor = { rank: 0, at: Number.MAX_SAFE_INTEGER, id: '' };

export const firstCursor = (order: Order): Cursor => (order === 'newest' ? END : START);

const ORDER_CODES: Readonly<Record<Order, string>> = {
  oldest: 'o',
  expiring: 'e',
  risk: 'r',
  decided: 'd',
  newest: 'n',
};

export const encodeCursor = (order: Order, { rank, at, id }: Cursor): string =>
  `${ORDER_CODES[order]}${String(rank)}.${String(at)}.${id}`;

/** Throws `CONTRACT_INVALID` for a cursor of another order. */
export const decodeCursor = (order: Order, text: string): Cursor => {
  const [, code, rank, at, id] = /^([a-z])(\d)\.(\d{1,16})\.(.+)$/.exec(text) ?? [];
  if (
    code !== ORDER_CODES[order] ||
    rank === undefined ||
    at === undefined ||
    id === undefined ||
    !TOKEN.test(id)
  )
    throw new HoldpointError('CONTRACT_INVALID', 'after: not the `next` of a page with this order');
  return { rank: Number(rank), at: Number(at), id };
};
