/** Which pages may talk to the service: its own, and those of the origins that are configured. */
export type Origins = {
  readonly isConfigured: (origin: string) => boolean;
  /** Whether a page of this origin may open a connection. Programs that are no browser name none. */
  readonly mayConnect: (origin: string | undefined, host: string | undefined) => boolean;
};

/** The whole of an origin is compared: neither a part of it, nor `null`, is one. */
export const createOrigins = (configured: readonly string[]): Origins => {
  const known = new Set(configured);
  const isOwn = (origin: string, host: string | undefined): boolean =>
    host !== undefined && (origin === `http://${host}` || origin === `https://${host}`);
  return {
    isConfigured: (origin) => known.has(origin),
    mayConnect: (origin, host) => origin === undefined || known.has(origin) || isOwn(origin, host),
  };
};
