import { HoldpointError } from '@holdpoint/contracts/errors';

/** A place in a list that is ordered by time and id. Lists are paged by key, so that they stay fast at any depth. */
export type Cursor = { readonly at: number; readonly id: string };

export const encodeCursor = ({ at, id }: Cursor): string => `${String(at)}.${id}`;

/** Reads what `encodeCursor` wrote. Throws `CONTRACT_INVALID`. */
export const decodeCursor = (text: string): Cursor => {
  const [, at, id] = /^(\d{1,16})\.([A-Za-z0-9_-]{1,64})$/.exec(text) ?? [];
  if (at === undefined || id === undefined)
    throw new HoldpointError('CONTRACT_INVALID', 'after: not the `next` of a page');
  return { at: Number(at), id };
};

/** Cuts a page out of `limit + 1` rows: there is a next page if the extra row came. */
export const pageOf = <Row>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => Cursor,
): { readonly rows: readonly Row[]; readonly next?: string } => {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return rows.length > limit && last !== undefined
    ? { rows: page, next: encodeCursor(cursorOf(last)) }
    : { rows: page };
};
