/** A row that was looked at, and whether it is asked for. */
export type ScannedRow<Place> = Place & { readonly fits: boolean };
/** The next rows behind a place; `ended` when there are no more behind them. */
export type ReadRows<Place> = (
  from: Place,
  most: number,
) => Promise<{ readonly rows: readonly ScannedRow<Place>[]; readonly ended: boolean }>;

/** What was found on the way, in order. Unless it `ended`, there may be more behind `at`. */
export type Scan<Place> = {
  readonly found: readonly Place[];
  readonly at: Place;
  readonly looked: number;
  readonly ended: boolean;
};

/** Goes on looking until there are as many as wanted, nothing is left, or it has looked at so many. */
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

/** A page of places, and behind which one the next begins. */
export type CursorPage<Place> = { readonly places: readonly Place[]; readonly next?: Place };

/** At most `limit` of what was found; the rest of it, or what may still come, is the next page's. */
export const pageOfScan = <Place>(
  { found, at, ended }: Omit<Scan<Place>, 'looked'>,
  limit: number,
): CursorPage<Place> => {
  const places = found.slice(0, limit);
  const last = places.at(-1);
  if (found.length > limit && last !== undefined) return { places, next: last };
  return ended ? { places } : { places, next: at };
};
