/** Where in the page somebody is: `#/tasks/t-1/log` is `tasks`, with what follows. */
export type Route = { readonly page: Page; readonly rest: readonly string[] };
export const PAGES = ['inbox', 'tasks', 'recovery', 'health'] as const;
export type Page = (typeof PAGES)[number];

const isPage = (name: string): name is Page => (PAGES as readonly string[]).includes(name);

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    // A link that somebody has typed: it leads to what is not there, and that is said there.
    return part;
  }
};

/** What is no page leads to the inbox. */
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
