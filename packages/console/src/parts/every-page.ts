type Page<Item> = { readonly items: readonly Item[]; readonly next?: string | undefined };

/** Every page of a list, up to a maximum number of pages. */
export const everyPage = async <Item>(
  pagesMax: number,
  ask: (after: string | undefined) => Promise<Page<Item>>,
): Promise<readonly Item[]> => {
  const all: Item[] = [];
  let after: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const { items, next } = await ask(after);
    all.push(...items);
    if (next === undefined) break;
    after = next;
  }
  return all;
};
