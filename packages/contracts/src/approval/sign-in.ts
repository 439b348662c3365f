import { z } from 'zod';

// What a page asks before anybody is signed in. It is no part of the bus: a service has its credentials.

/** How somebody may sign in beside showing a token. */
export const SignInWays = z.object({
  /** By the login of an OIDC provider, which sends him back with a code. */
  oidc: z
    .object({
      /** What people call the provider. */
      name: z.string(),
      clientId: z.string(),
      scopes: z.array(z.string()),
      /** Where its login is; left out while the provider does not answer. */
      authorizationEndpoint: z.url().optional(),
    })
    .optional(),
});
export type SignInWays = z.infer<typeof SignInWays>;

const Visible = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[\u0021-\u007e]+$/, 'characters that can be seen');

/** What somebody came back with, and what the page has kept of the sign-in that it began. */
export const OidcCode = z.object({
  code: Visible(4_096),
  /** Of PKCE: whoever has only seen the code has nothing. */
  verifier: z.string().regex(/^[\w.~-]{43,128}$/, '43 to 128 characters of a URL'),
  nonce: Visible(128),
  /** The page itself, exactly as the provider was told it. */
  redirectUri: z.url().max(500),
  /** The provider's `iss` beside the code, where it sends one. */
  issuer: Visible(500).optional(),
});
export type OidcCode = z.infer<typeof OidcCode>;

/** The token to be shown from now on. */
export const SignedIn = z.object({ token: z.string() });
export type SignedIn = z.infer<typeof SignedIn>;
