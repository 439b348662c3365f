/** Characters of a token at the most: one of OIDC with many groups has some thousands. */
const TOKEN_MAX = 8_192;

const BEARER = new RegExp(`^Bearer (\\S{1,${String(TOKEN_MAX)}})$`, 'i');

/** The token that a header brings; undefined for anything else. */
export const bearerOf = (authorization: string | undefined): string | undefined =>
  BEARER.exec(authorization ?? '')?.[1];

/** Whether a header can bring it. */
export const isBearer = (token: string): boolean => bearerOf(`Bearer ${token}`) !== undefined;
