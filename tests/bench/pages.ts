import { type Percentiles, percentiles, round } from './report/percentiles.ts';

const PAGES = 40;

type Page = { readonly items: readonly unknown[]; readonly next?: string | undefined };

/** Requests each page of a list repeatedly. Items are the average per page. */
export const measurePages = async (
  ask: (after: { readonly after?: string }) => Promise<Page>,
): Promise<{ readonly items: number; readonly pageMs: Percentiles }> => {
  const durations: number[] = [];
  let [items, after]: [number, string | undefined] = [0, undefined];
  for (let page = 0; page < PAGES; page += 1) {
    const at = performance.now();
    const answer = await ask(after === undefined ? {} : { after });
    durations.push(performance.now() - at);
    items += answer.items.length;
    after = answer.next;
  }
  return { items: round(items / PAGES, 1), pageMs: percentiles(durations) };
};
