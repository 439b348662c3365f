/** Origins whose pages may use the service: its own and the configured ones. */
export type Origins = {
  readonly isConfigured: (origin: string) => boolean;
  /** Whether a page of this origin may connect. Clients other than browsers send no origin. */
  readonly mayConnect: (origin: string | undefined, host: string | undefined) => boolean;
};

/** Origins match exactly; `null` matches none. */
export const createOrigins = (configured: readonly string[]): Origins => {
  const known = new Set(configured);
  const isOwn = (origin: string, host: string | undefined): boolean =>
    host !== undefined && (origin === `http://${host}` || origin === `https://${host}`);
  return {
    isConfigured: (origin) => known.has(origin),
    mayConnect: (origin, host) => origin === undefined || known.has(origin) || isOwn(origin, host),
  };
};
