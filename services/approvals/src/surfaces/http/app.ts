import { getRequestListener } from '@hono/node-server';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Web } from '@holdpoint/runtime/service/http';
import { Hono } from 'hono';
import type { SurfaceDeps } from '../surface-deps.ts';
import { API_PATH, createApi, type Env } from './api.ts';
import { createOrigins } from './origins.ts';
import { httpErrorOf } from './http-error.ts';
import type { WebSettings } from './settings.ts';

/** The HTTP server: the API, and the routes of other surfaces. */
export const createWeb = (
  deps: SurfaceDeps,
  { HOLDPOINT_WEB_ORIGINS: origins }: Pick<WebSettings, 'HOLDPOINT_WEB_ORIGINS'>,
  ...routes: readonly (Hono | Hono<Env>)[]
): Pick<Web, 'request'> => {
  const app = new Hono<Env>();
  app.route(API_PATH, createApi(deps, createOrigins(origins)));
  for (const route of routes) app.route('/', route as Hono<Env>);
  app.notFound((context) => context.json(errorBody('CONTRACT_UNKNOWN_SUBJECT', 'no such path'), 404));
  app.onError((error, context) => {
    const { status, body } = httpErrorOf(error, deps.log);
    return context.json(body, status as 500);
  });
  const listener = getRequestListener((request, env) => app.fetch(request, env), {
    overrideGlobalObjects: false,
  });
  return { request: (request, response) => void listener(request, response) };
};
