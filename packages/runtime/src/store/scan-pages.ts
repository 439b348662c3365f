/** A row that was read, and whether it matches the filter. */
export type ScannedRow<Place> = Place & { readonly fits: boolean };
/** Reads the next rows after a cursor; `ended` when there are no more. */
export type ReadRows<Place> = (
  from: Place,
  most: number,
) => Promise<{ readonly rows: readonly ScannedRow<Place>[]; readonly ended: boolean }>;

/** The matches so far, in order. Unless it `ended`, there may be more after `at`. */
export type Scan<Place> = {
  readonly found: readonly Place[];
  readonly at: Place;
  readonly looked: number;
  readonly ended: boolean;
};

/** Reads rows until enough match, none is left, or `most` were read. */
export const scanPages = async <Place>(
  look: ReadRows<Place>,
  { found, at, looked, ended }: Scan<Place>,
  { wanted, most, step }: { readonly wanted: number; readonly most: number; readonly step: number },
): Promise<Scan<Place>> => {
  if (ended || found.length >= wanted || looked >= most) return { found, at, looked, ended };
  const { rows, ended: over } = await look(at, Math.min(step, most - looked));
  const next = {
    found: [...found, ...rows.filter(({ fits }) => fits)],
    at: rows.at(-1) ?? at,
    looked: looked + rows.length,
    ended: over,
  };
  return scanPages(look, next, { wanted, most, step });
};

/** A page of cursors, and the cursor after which the next page begins. */
export type CursorPage<Place> = { readonly places: readonly Place[]; readonly next?: Place };

/** At most `limit` of the matches; the others belong to the next page. */
export const pageOfScan = <Place>(
  { found, at, ended }: Omit<Scan<Place>, 'looked'>,
  limit: number,
): CursorPage<Place> => {
  const places = found.slice(0, limit);
  const last = places.at(-1);
  if (found.length > limit && last !== undefined) return { places, next: last };
  return ended ? { places } : { places, next: at };
};
