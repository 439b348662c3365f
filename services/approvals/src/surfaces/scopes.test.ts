import { Scope } from '@holdpoint/contracts/approval/access-token';
import { allows, CONSOLE_SCOPES, HTTP_SCOPES, scopeOfEndpoint } from '@holdpoint/contracts/catalog/scopes';
import { HTTP_ROUTES, type HttpRoute } from '@holdpoint/contracts/catalog/http-api';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { describe, expect, test } from 'vitest';
import { type ConsoleParts, consoleRoutes } from './console/routes.ts';
import { pageEndpoints } from './http/endpoint-access.ts';
import { createOrigins } from './http/origins.ts';
import { createApi } from './http/routes.ts';
import { createSourceOf } from './http/source.ts';
import type { SurfaceDeps } from './surface-deps.ts';

/** Stands for everything behind the check of the scope. */
const behind: unknown = new Proxy(() => undefined, {
  get: (_, name) => (name === 'then' ? undefined : behind),
  apply: () => {
    throw new HoldpointError('RUNTIME_UNAVAILABLE', 'reached');
  },
});

const depsFor = (scopes: readonly Scope[]): SurfaceDeps => {
  const identity = {
    isAdministrator: () => false,
    around: () => ({}),
    refreshPeople: async () => {
      throw new HoldpointError('RUNTIME_UNAVAILABLE', 'reached');
    },
    authenticate: async (_: unknown, scope?: Scope) => {
      if (scope !== undefined && !scopes.includes(scope))
        throw new HoldpointError('APPROVALS_SCOPE', `the token lacks scope ${scope}`);
      return { name: 'ada', groups: [], roles: [], scopes };
    },
  };
  return new Proxy(
    { identity, sourceOf: createSourceOf([]) },
    { get: (own, name) => (name in own ? own[name as 'identity'] : behind) },
  ) as never;
};

const consoleFor = (scopes: readonly Scope[]) =>
  consoleRoutes({
    deps: depsFor(scopes),
    listener: behind,
    look: behind,
    resolveDeadLetter: behind,
    events: behind,
    page: { file: () => undefined },
    origins: [],
  } as unknown as ConsoleParts);

const SOCKET = { incoming: { headers: {}, socket: { remoteAddress: '127.0.0.1' } }, outgoing: {} };

const codeOf = async (answer: Response | Promise<Response>): Promise<string> =>
  ((await (await answer).json()) as Partial<ErrorBody>).code ?? '';

/** Every single scope, and a token without any. */
const TOKENS: readonly (readonly Scope[])[] = [[], ...Scope.options.map((scope) => [scope])];
const refusedFor = async (ask: (scopes: readonly Scope[]) => Promise<string>): Promise<readonly string[]> => {
  const codes = await Promise.all(TOKENS.map(async (scopes) => [scopes.join(), await ask(scopes)] as const));
  return codes.filter(([, code]) => code === 'APPROVALS_SCOPE').map(([scopes]) => scopes);
};
const expected = (needed: Scope | 'any'): readonly string[] =>
  TOKENS.filter((scopes) => !allows(scopes, needed)).map((scopes) => scopes.join());

const scopeOfRoute = ({ to }: HttpRoute): Scope | 'any' => {
  const [service = '', endpoint = ''] = to.split('.');
  const scope =
    service === 'http'
      ? HTTP_SCOPES[endpoint as keyof typeof HTTP_SCOPES]
      : scopeOfEndpoint(service, endpoint);
  return scope ?? 'any';
};

const httpFor = (scopes: readonly Scope[]) =>
  createApi({ deps: depsFor(scopes), listener: behind, attend: behind } as never, createOrigins([]));

describe('over HTTP', () => {
  test.each(HTTP_ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'an HTTP route answers only a token with its scope: %s',
    async (_, route) => {
      const url = route.path.replaceAll(/:\w+/g, 'a-1');
      const { method } = route;
      const body = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {};
      const refused = await refusedFor((scopes) =>
        codeOf(httpFor(scopes).request(url, { method, ...body }, SOCKET)),
      );
      expect(refused).toEqual(expected(scopeOfRoute(route)));
    },
  );
});

describe('in the console', () => {
  const post = (path: string) => (scopes: readonly Scope[]) =>
    codeOf(
      consoleFor(scopes).request(
        `http://here/console/api/${path}`,
        {
          method: 'POST',
          body: '{}',
          headers: { 'content-type': 'application/json', host: 'here', origin: 'http://here' },
        },
        SOCKET,
      ),
    );
  const own = HTTP_ROUTES.map(({ to }) => to).filter((to) => to.startsWith('approvals.'));

  test.each([...own, ...pageEndpoints()])(
    'a console call answers only a token with its scope: %s',
    async (name) => {
      const [service = '', endpoint = ''] = name.split('.');
      const refused = await refusedFor(post(`${service}/${endpoint}`));
      expect(refused).toEqual(expected(scopeOfEndpoint(service, endpoint) ?? 'any'));
    },
  );

  test.each([
    ['dlq/list', CONSOLE_SCOPES.dead_letters],
    ['dlq/retry', CONSOLE_SCOPES.resolve_dead_letter],
    ['dlq/drop', CONSOLE_SCOPES.resolve_dead_letter],
  ])('a console call about dead letters answers only a token with its scope: %s', async (path, scope) => {
    expect(await refusedFor(post(path))).toEqual(expected(scope));
  });

  test('the health page takes exactly its scope', async () => {
    const ask = (scopes: readonly Scope[]) =>
      codeOf(consoleFor(scopes).request('http://here/console/health', {}, SOCKET));
    expect(await refusedFor(ask)).toEqual(expected(CONSOLE_SCOPES.health));
  });

  test('an endpoint outside the table is refused for every token', async () => {
    for (const path of [
      'orchestrator/purge',
      'executor/dead_letter_resolve',
      'executor/claim',
      'approvals/purge',
      'x/y',
    ])
      for (const scopes of TOKENS)
        expect(['CONTRACT_UNKNOWN_SUBJECT', 'APPROVALS_SCOPE']).toContain(await post(path)(scopes));
  });
});
