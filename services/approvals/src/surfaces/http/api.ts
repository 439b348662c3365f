import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { api } from '@holdpoint/contracts/catalog/api';
import { HEADERS, SURFACE_HEADER, traceOf } from '@holdpoint/contracts/bus/cloudevents';
import { errorBody, HoldpointError } from '@holdpoint/contracts/values/errors';
import { awaitCommit } from '@holdpoint/runtime/engine/await-commit';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { Caller, Endpoint } from '@holdpoint/runtime/bus/api';
import { type Context, Hono } from 'hono';
import type { z } from 'zod';
import { callerFor, endpoints } from '../../api.ts';
import type { ServiceMessage } from '../../aggregates.ts';
import type { SurfaceDeps } from '../surface-deps.ts';
import { readBody } from './body.ts';
import type { Origins } from './origins.ts';
import { fieldsOf } from './query.ts';
import { httpErrorOf } from './http-error.ts';
import { type Route, ROUTES } from './routes.ts';
import type { SourceOf } from './source.ts';

export const API_PATH = '/api/v1';
export type Env = {
  readonly Bindings: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };
};

/** After this the caller has to repeat the request. */
const ANSWER_WITHIN_MS = 15_000;

/** Headers of every private answer. */
export const PRIVATE: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const READABLE = [HEADERS.trace, 'authorization', 'content-type', 'idempotency-key', SURFACE_HEADER].join(
  ', ',
);

/**
 * The same caller with the same idempotency key repeats a request. Keys of different callers never collide.
 */
const identityOf = (header: Caller['header']): string => {
  const key = header('idempotency-key');
  if (key === undefined) return crypto.randomUUID();
  const parts = [header('authorization') ?? '', key];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
};

export const callerIn = ({ req, env }: Context<Env>, sourceOf: SourceOf): Caller => {
  const header = (name: string): string | undefined => req.header(name) ?? undefined;
  return { header, identity: identityOf(header), source: sourceOf(env.incoming) };
};

/** Fields of the path, and of the query or the body. A field that contradicts the path is an error. */
const requestOf = async ({ method }: Route, schema: z.ZodType, context: Context<Env>): Promise<unknown> => {
  const { req } = context;
  const fields =
    method === 'POST' ? await readBody(req.raw) : fieldsOf(schema, new URL(req.url).searchParams);
  const named = req.param();
  for (const [name, value] of Object.entries(named))
    if (Object.hasOwn(fields, name) && fields[name] !== value)
      throw new HoldpointError('CONTRACT_INVALID', `${name}: differs from the path`);
  return parseAs(schema, { ...fields, ...named });
};

/** Throws `RUNTIME_UNAVAILABLE` after the time limit. */
export const withTimeout = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new HoldpointError('RUNTIME_UNAVAILABLE', 'no answer in time; try again')),
      ANSWER_WITHIN_MS,
    );
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
};

export type AnyEndpoint = Endpoint<ServiceMessage, unknown, unknown>;

/** Calls an endpoint as the bus would. */
export const askEndpoint = async (
  deps: SurfaceDeps,
  endpoint: AnyEndpoint,
  request: unknown,
  caller: Caller,
): Promise<unknown> => {
  if ('query' in endpoint) return endpoint.query(request, caller);
  const routed = await endpoint.command(request, caller);
  return awaitCommit(deps.engine, routed, traceOf(caller.header(HEADERS.trace)));
};

const answerOf = async (
  deps: SurfaceDeps,
  route: Route,
  endpoint: AnyEndpoint,
  context: Context<Env>,
): Promise<unknown> => {
  const caller = callerIn(context, deps.sourceOf);
  // Authenticates before it parses, so that callers without the scope learn nothing from validation errors.
  await callerFor(deps, caller, route.endpoint);
  const request = await requestOf(route, api.approvals[route.endpoint].request, context);
  return askEndpoint(deps, endpoint, request, caller);
};

const noSuchPath = errorBody('CONTRACT_UNKNOWN_SUBJECT', 'no such path');

/** The bus API over HTTP: the same endpoints, contracts and errors. */
export const createApi = (deps: SurfaceDeps, origins: Origins): Hono<Env> => {
  const app = new Hono<Env>({ strict: true });
  const serving = endpoints(deps) as Readonly<Record<Route['endpoint'], AnyEndpoint>>;

  app.use(async ({ req, header }, next) => {
    for (const [name, value] of Object.entries(PRIVATE)) header(name, value);
    header('vary', 'origin');
    const origin = req.header('origin');
    if (origin !== undefined && origins.isConfigured(origin)) header('access-control-allow-origin', origin);
    await next();
  });

  for (const route of ROUTES)
    app.on(route.method, route.path, async (context) =>
      context.json(await withTimeout(answerOf(deps, route, serving[route.endpoint], context))),
    );

  const methods = Map.groupBy(ROUTES, ({ path }) => path);
  for (const [path, routes] of methods) {
    const known = new Set(routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])));
    const allow = [...known, 'OPTIONS'].join(', ');
    app.all(path, (context) => {
      context.header('allow', allow);
      if (context.req.method !== 'OPTIONS')
        return context.json(errorBody('CONTRACT_UNKNOWN_SUBJECT', `method not allowed: use ${allow}`), 405);
      if (context.res.headers.has('access-control-allow-origin')) {
        context.header('access-control-allow-methods', allow);
        context.header('access-control-allow-headers', READABLE);
        context.header('access-control-max-age', '600');
      }
      return context.body(null, 204);
    });
  }
  app.all('*', (context) => context.json(noSuchPath, 404));

  app.onError((error, context) => {
    const { status, body, headers } = httpErrorOf(error, deps.log);
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    return context.body(JSON.stringify(body), {
      status: status as 500,
      headers: { 'content-type': 'application/json' },
    });
  });
  return app;
};
