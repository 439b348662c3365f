import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Scope } from '@holdpoint/contracts/approval/access-token';
import { CONSOLE_SCOPES } from '@holdpoint/contracts/catalog/scopes';
import { errorBody, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import type { BusOverview } from '@holdpoint/runtime/bus/bus-overview';
import type { DeadLetterResolver } from '@holdpoint/runtime/bus/dead-letter-actions';
import { type Context, Hono } from 'hono';
import type { RedeemCode } from '../../adapters/identity/sign-in/code.ts';
import type { SignIn } from '../../adapters/identity/sign-in/sign-in.ts';
import { callerOf } from '../../callers.ts';
import type { SurfaceDeps } from '../surface-deps.ts';
import { callerIn, type Env, PRIVATE, withTimeout } from '../http/api.ts';
import { readBody } from '../http/body.ts';
import { createOrigins } from '../http/origins.ts';
import { httpErrorOf } from '../http/http-error.ts';
import { createDeadLetters } from './dead-letters.ts';
import type { Events } from './events/events.ts';
import { commanderOf, createGateway } from './gateway.ts';
import { createHealth } from './health.ts';
import { pageRoutes } from './page-routes.ts';
import type { Page } from './page.ts';
import { signInRoutes } from './sign-in-routes.ts';

export type ConsoleParts = {
  readonly deps: SurfaceDeps;
  readonly listener: Pick<Listener, 'call' | 'listen'>;
  readonly look: BusOverview;
  readonly resolveDeadLetter: DeadLetterResolver;
  readonly events: Events;
  readonly page: Page;
  readonly origins: readonly string[];
  /** Exchanges the code of a sign-in link for the token of a session. */
  readonly redeemCode: RedeemCode;
  /** The OIDC sign-in, if configured. */
  readonly signIn?: SignIn | undefined;
};

const CONSOLE = '/console';

/** The console: its page, and the routes that the page calls. */
export const consoleRoutes = (parts: ConsoleParts): Hono<Env> => {
  const { deps, listener, events, page, origins: configured } = parts;
  const origins = createOrigins(configured);
  const gateway = createGateway(deps, listener);
  const health = createHealth(parts);
  const deadLetters = createDeadLetters({ ...parts, pool: deps.pool, identify: deps.keyring.identify });
  const callerAt = (context: Context<Env>) => callerIn(context, deps.sourceOf);
  const personAt = (context: Context<Env>, scope: Scope) => callerOf(deps, callerAt(context), scope);
  const app = new Hono<Env>({ strict: true });

  const api = new Hono<Env>({ strict: true });
  api.use(async ({ req, header }, next) => {
    for (const [name, value] of Object.entries(PRIVATE)) header(name, value);
    if (!origins.mayConnect(req.header('origin'), req.header('host')))
      throw new HoldpointError('APPROVALS_ORIGIN_REFUSED', 'this origin is not allowed');
    await next();
  });
  api.post('/api/dlq/list', async (context) => {
    await personAt(context, CONSOLE_SCOPES.dead_letters);
    return context.json(await withTimeout(deadLetters.list(await readBody(context.req.raw))));
  });
  for (const action of ['retry', 'drop'] as const)
    api.post(`/api/dlq/${action}`, async (context) => {
      const person = await commanderOf(deps, callerAt(context), CONSOLE_SCOPES.resolve_dead_letter);
      return context.json(await withTimeout(deadLetters[action](await readBody(context.req.raw), person)));
    });
  api.post('/api/:service/:endpoint', async (context) => {
    const { service, endpoint } = context.req.param();
    const body = () => readBody(context.req.raw);
    return context.json(await withTimeout(gateway({ service, endpoint, body, caller: callerAt(context) })));
  });
  api.get('/health', async (context) => {
    await personAt(context, CONSOLE_SCOPES.health);
    return context.json(await withTimeout(health()));
  });
  api.get('/events', async (context) => {
    const { req, env } = context;
    if (req.method !== 'GET') return context.body(null, 405, { allow: 'GET' });
    const { task, after = req.header('last-event-id'), log } = req.query();
    await events.attend(env.outgoing, {
      authorization: req.header('authorization'),
      source: deps.sourceOf(env.incoming),
      task,
      after,
      log: log === '1',
    });
    return RESPONSE_ALREADY_SENT;
  });
  api.route('/sign-in', signInRoutes(parts.signIn, parts.redeemCode, origins, deps.sourceOf));
  api.all('*', (context) => context.json(errorBody('CONTRACT_UNKNOWN_SUBJECT', 'no such path'), 404));
  api.onError((error, context) => {
    const { status, body, headers } = httpErrorOf(error, deps.log);
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    return context.body(JSON.stringify(body), {
      status: status as 500,
      headers: { 'content-type': 'application/json' },
    });
  });

  app.route(CONSOLE, api);
  app.route('/', pageRoutes(page));
  return app;
};
