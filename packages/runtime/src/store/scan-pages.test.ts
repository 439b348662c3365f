import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Scan, scanPages, type ReadRows, pageOfScan } from './scan-pages.ts';

type Place = { readonly at: number };
const START: Place = { at: -1 };

/** Numbers up to a last one, of which those in a set are asked for. */
const lookIn =
  (count: number, fitting: ReadonlySet<number>): ReadRows<Place> =>
  ({ at }, most) => {
    const rows = Array.from({ length: Math.max(0, Math.min(most, count - at - 1)) }, (_, i) => ({
      at: at + 1 + i,
      fits: fitting.has(at + 1 + i),
    }));
    return Promise.resolve({ rows, ended: rows.length < most });
  };

const start = { found: [], at: START, looked: 0, ended: false };

test('pages return every match once and in order, and no page reads more than its limit', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 60 }),
      fc.uniqueArray(fc.nat(59)),
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 30 }),
      async (count, fits, limit, step, most) => {
        const wanted = fits.filter((each) => each < count).toSorted((a, b) => a - b);
        const found: number[] = [];
        let from: Place | undefined = START;
        for (let page = 0; from !== undefined; page += 1) {
          expect(page).toBeLessThan(200);
          const gathered: Scan<Place> = await scanPages(
            lookIn(count, new Set(fits)),
            { ...start, at: from },
            { wanted: limit + 1, most, step },
          );
          expect(gathered.looked).toBeLessThanOrEqual(most);
          const { places, next } = pageOfScan<Place>(gathered, limit);
          found.push(...places.map(({ at }) => at));
          from = next;
        }
        expect(found).toEqual(wanted);
      },
    ),
  );
});
