/** Characters of a token; an OIDC token with many groups has some thousands. */
const TOKEN_MAX = 8_192;

const BEARER = new RegExp(`^Bearer (\\S{1,${String(TOKEN_MAX)}})$`, 'i');

/** The token in the header, if any. */
export const bearerOf = (authorization: string | undefined): string | undefined =>
  BEARER.exec(authorization ?? '')?.[1];

/** Whether a header can carry the token. */
export const isBearer = (token: string): boolean => bearerOf(`Bearer ${token}`) !== undefined;
