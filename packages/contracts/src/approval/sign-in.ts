import { z } from 'zod';

// Requests of a page before sign-in. They are not part of the bus: services have credentials.

/** A way to sign in besides showing a token. */
export const SignInWays = z.object({
  /** Sign-in through an OIDC provider, which redirects back with a code. */
  oidc: z
    .object({
      /** Display name of the provider. */
      name: z.string(),
      clientId: z.string(),
      scopes: z.array(z.string()),
      /** Login URL; absent while the provider is unreachable. */
      authorizationEndpoint: z.url().optional(),
    })
    .optional(),
});
export type SignInWays = z.infer<typeof SignInWays>;

const Visible = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[\u0021-\u007e]+$/, 'visible characters');

/** The provider's answer, and the page's own record of the sign-in that it started. */
export const OidcCode = z.object({
  code: Visible(4_096),
  /** PKCE verifier: the code alone is useless to others. */
  verifier: z.string().regex(/^[\w.~-]{43,128}$/, '43 to 128 characters of a URL'),
  nonce: Visible(128),
  /** URL of the page, exactly as sent to the provider. */
  redirectUri: z.url().max(500),
  /** The provider's `iss` parameter, if it sends one. */
  issuer: Visible(500).optional(),
});
export type OidcCode = z.infer<typeof OidcCode>;

/** The code of a sign-in link, from `holdpoint console`. */
export const SignInCode = z.object({ code: Visible(200) });

/** Token for later calls. */
export const SignedIn = z.object({ token: z.string() });
export type SignedIn = z.infer<typeof SignedIn>;
