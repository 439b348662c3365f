import { getRequestListener } from '@hono/node-server';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Web } from '@holdpoint/runtime/service/http';
import { Hono } from 'hono';
import { API_PATH, type Env } from './api.ts';
import type { HandlerParts } from './handlers.ts';
import { createOrigins } from './origins.ts';
import { httpErrorOf } from './http-error.ts';
import { createApi } from './routes.ts';
import type { WebSettings } from './settings.ts';

/** The HTTP server: the API, and the routes of other surfaces. */
export const createWeb = (
  parts: HandlerParts,
  { HOLDPOINT_WEB_ORIGINS: origins }: Pick<WebSettings, 'HOLDPOINT_WEB_ORIGINS'>,
  ...routes: readonly (Hono | Hono<Env>)[]
): Pick<Web, 'request'> => {
  const app = new Hono<Env>();
  app.route(API_PATH, createApi(parts, createOrigins(origins)));
  for (const route of routes) app.route('/', route as Hono<Env>);
  app.notFound((context) => context.json(errorBody('CONTRACT_UNKNOWN_SUBJECT', 'no such path'), 404));
  app.onError((error, context) => {
    const { status, body } = httpErrorOf(error, parts.deps.log);
    return context.json(body, status as 500);
  });
  const listener = getRequestListener((request, env) => app.fetch(request, env), {
    overrideGlobalObjects: false,
  });
  return { request: (request, response) => void listener(request, response) };
};
