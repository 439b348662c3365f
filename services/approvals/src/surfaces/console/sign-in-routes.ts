import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { OidcCode, SignInCode } from '@holdpoint/contracts/approval/sign-in';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import { Hono } from 'hono';
import type { RedeemCode } from '../../adapters/identity/sign-in/code.ts';
import type { SignIn } from '../../adapters/identity/sign-in/sign-in.ts';
import { type Env, withTimeout } from '../http/api.ts';
import { readBody } from '../http/body.ts';
import type { Origins } from '../http/origins.ts';
import type { SourceOf } from '../http/source.ts';

/**
 * Whether the provider may redirect to this address: the requesting page itself, without query or fragment,
 * because the provider receives both.
 */
const isOwnPage = (
  uri: string,
  origin: string | undefined,
  mayConnect: (origin: string) => boolean,
): boolean => {
  const { origin: own, pathname } = new URL(uri);
  return (origin === undefined || origin === own) && mayConnect(own) && uri === own + pathname;
};

/** Routes before the sign-in. They need no token and reveal only public settings. */
export const signInRoutes = (
  signIn: SignIn | undefined,
  redeemCode: RedeemCode,
  origins: Origins,
  sourceOf: SourceOf,
): Hono<Env> => {
  const app = new Hono<Env>({ strict: true });
  app.get('/', async (context) => context.json(signIn === undefined ? {} : await withTimeout(signIn.ways())));
  app.post('/oidc', async ({ req, env, json }) => {
    if (signIn === undefined)
      throw new HoldpointError('CONTRACT_UNKNOWN_SUBJECT', 'the console has no OIDC provider');
    const code = parseAs(OidcCode, await readBody(req.raw));
    const mayConnect = (origin: string): boolean => origins.mayConnect(origin, req.header('host'));
    if (!isOwnPage(code.redirectUri, req.header('origin'), mayConnect))
      throw new HoldpointError('APPROVALS_ORIGIN_REFUSED', 'redirect_uri is not allowed');
    return json(await withTimeout(signIn.redeem(code, sourceOf(env.incoming))));
  });
  app.post('/code', async ({ req, env, json }) => {
    const { code } = parseAs(SignInCode, await readBody(req.raw));
    return json(await withTimeout(redeemCode(code, sourceOf(env.incoming))));
  });
  return app;
};
