import { HoldpointError } from '@holdpoint/contracts/values/errors';

/**
 * A position in a list that is ordered by time and id. Lists are paged by key, so that they stay fast at any
 * depth.
 */
export type Cursor = { readonly at: number; readonly id: string };

export const encodeCursor = ({ at, id }: Cursor): string => `${String(at)}.${id}`;

/** The inverse of `encodeCursor`. Throws `CONTRACT_INVALID`. */
export const decodeCursor = (text: string): Cursor => {
  const [, at, id] = /^(\d{1,16})\.([A-Za-z0-9_-]{1,64})$/.exec(text) ?? [];
  if (at === undefined || id === undefined)
    throw new HoldpointError('CONTRACT_INVALID', 'after: not the `next` of a page');
  return { at: Number(at), id };
};

export type RowsOfPage<Row> = { readonly rows: readonly Row[]; readonly next?: string };

const cut = <Row>(rows: readonly Row[], limit: number, nextOf: (last: Row) => string): RowsOfPage<Row> => {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return rows.length > limit && last !== undefined ? { rows: page, next: nextOf(last) } : { rows: page };
};

/** Cuts a page out of `limit + 1` rows: there is a next page if the extra row came. */
export const pageOf = <Row>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => Cursor,
): RowsOfPage<Row> => cut(rows, limit, (last) => encodeCursor(cursorOf(last)));

/** The same for a list that is ordered by id alone: the next page begins after the last id. */
export const pageById = <Row extends { readonly id: string }>(
  rows: readonly Row[],
  limit: number,
): RowsOfPage<Row> => cut(rows, limit, ({ id }) => id);
