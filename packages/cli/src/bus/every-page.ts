const LIMIT = 500;

type Page<Item> = { readonly items: readonly Item[]; readonly next?: string | undefined };
export type Place = { readonly limit: number; readonly after?: string };

/** Collects a list page by page, up to a maximum number of pages. */
export const everyPage = async <Item>(
  pagesMax: number,
  ask: (cursor: Place) => Promise<Page<Item>>,
): Promise<readonly Item[]> => {
  const all: Item[] = [];
  let after: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const { items, next } = await ask({ limit: LIMIT, ...(after !== undefined && { after }) });
    all.push(...items);
    if (next === undefined) break;
    after = next;
  }
  return all;
};
