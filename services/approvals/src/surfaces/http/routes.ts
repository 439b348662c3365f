import { HEADERS, SURFACE_HEADER } from '@holdpoint/contracts/bus/cloudevents';
import { HTTP_ROUTES, type HttpRoute } from '@holdpoint/contracts/catalog/http-api';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { type Context, Hono } from 'hono';
import { type Env, PRIVATE } from './api.ts';
import { createHandlers, type HandlerParts } from './handlers.ts';
import { problemOf } from './http-error.ts';
import type { Origins } from './origins.ts';

const READABLE = [
  HEADERS.trace,
  'authorization',
  'content-type',
  'idempotency-key',
  'if-none-match',
  'last-event-id',
  'range',
  SURFACE_HEADER,
].join(', ');

const methodsOf = (routes: readonly HttpRoute[]): string => {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...new Set(methods), 'OPTIONS'].join(', ');
};

/** The table of routes as a server, with the contracts and errors of the bus. */
export const createApi = (parts: HandlerParts, origins: Origins): Hono<Env> => {
  const { log } = parts.deps;
  const app = new Hono<Env>({ strict: true });
  const handlers = createHandlers(parts);

  app.use(async ({ req, header }, next) => {
    for (const [name, value] of Object.entries(PRIVATE)) header(name, value);
    header('vary', 'origin');
    const origin = req.header('origin');
    if (origin !== undefined && origins.isConfigured(origin)) {
      header('access-control-allow-origin', origin);
      header('access-control-expose-headers', 'etag, retry-after, content-range');
    }
    await next();
  });

  const answerProblem = (context: Context<Env>, error: unknown): Response => {
    const { status, body, headers } = problemOf(error, log);
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    return context.body(JSON.stringify(body), {
      status: status as 500,
      headers: { 'content-type': 'application/problem+json' },
    });
  };

  // `/rules/test` goes before `/rules/:id`.
  const paths = [...Map.groupBy(HTTP_ROUTES, ({ path }) => path)].toSorted(
    ([a], [b]) => Number(a.includes(':')) - Number(b.includes(':')),
  );
  for (const [path, routes] of paths) {
    for (const route of routes) app.on(route.method, path, handlers(route));
    const allow = methodsOf(routes);
    app.all(path, (context) => {
      context.header('allow', allow);
      if (context.req.method !== 'OPTIONS')
        return answerProblem(
          context,
          new HoldpointError('CONTRACT_METHOD_NOT_ALLOWED', `method not allowed: use ${allow}`),
        );
      if (context.res.headers.has('access-control-allow-origin')) {
        context.header('access-control-allow-methods', allow);
        context.header('access-control-allow-headers', READABLE);
        context.header('access-control-max-age', '600');
      }
      return context.body(null, 204);
    });
  }
  app.all('*', (context) =>
    answerProblem(context, new HoldpointError('CONTRACT_UNKNOWN_SUBJECT', 'no such path')),
  );
  app.onError((error, context) => answerProblem(context, error));
  return app;
};
