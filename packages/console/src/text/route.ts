/** The current page: `#/tasks/t-1/log` is `tasks` with the rest as parts. */
export type Route = { readonly page: Page; readonly rest: readonly string[] };
export const PAGES = ['inbox', 'tasks', 'recovery', 'health', 'settings'] as const;
export type Page = (typeof PAGES)[number];

const isPage = (name: string): name is Page => (PAGES as readonly string[]).includes(name);

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    // A typed link may name a missing thing; its page says so.
    return part;
  }
};

/** Unknown pages lead to the inbox. */
export const routeOf = (hash: string): Route => {
  const [page = '', ...rest] = hash
    .replace(/^#?\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);
  return isPage(page) ? { page, rest } : { page: 'inbox', rest: [] };
};

export const hrefOf = (page: Page, ...rest: readonly string[]): string =>
  `#/${[page, ...rest.map(encodeURIComponent)].join('/')}`;
