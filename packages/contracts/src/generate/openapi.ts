import { z } from 'zod';
import { Scope } from '../approval/access-token.ts';
import { CapabilityDefinition, RegisteredCapability } from '../approval/capability.ts';
import { api } from '../catalog/api.ts';
import { HTTP_ROUTES, httpApi, type HttpRoute, NamedTask } from '../catalog/http-api.ts';
import { HTTP_SCOPES, scopeOfEndpoint } from '../catalog/scopes.ts';
import { CanonicalEffect } from '../effect/canonical-effect.ts';
import { RunEffect } from '../effect/commands.ts';
import { HeldAnswer, HeldState, HoldEffect } from '../effect/hold.ts';
import { ClaimantView, ClaimedOrder } from '../effect/remote.ts';
import { ArtifactView } from '../effect/stored-artifact.ts';
import { TaskPhase } from '../task/status.ts';
import { NodeView, TaskView } from '../task/views.ts';
import { TaskSummary } from '../task/queries.ts';
import { ApprovalView } from '../approval/views.ts';
import { ErrorCode } from '../values/errors.ts';
import { Json } from '../values/json.ts';
import { VERSION } from '../values/version.ts';

type Document = Readonly<Record<string, unknown>>;
type Schema = Record<string, unknown>;

/** Schemas with a name of their own in generated clients. */
const named = z
  .registry<{ id: string }>()
  .add(Json, { id: 'Json' })
  .add(HoldEffect, { id: 'HoldEffect' })
  .add(HeldAnswer, { id: 'HeldEffect' })
  .add(HeldState, { id: 'HeldState' })
  .add(ClaimedOrder, { id: 'ClaimedOrder' })
  .add(ClaimantView, { id: 'Claimant' })
  .add(RunEffect, { id: 'RunEffect' })
  .add(CanonicalEffect, { id: 'CanonicalEffect' })
  .add(CapabilityDefinition, { id: 'CapabilityDefinition' })
  .add(RegisteredCapability, { id: 'RegisteredCapability' })
  .add(TaskView, { id: 'Task' })
  .add(NodeView, { id: 'Node' })
  .add(TaskSummary, { id: 'TaskSummary' })
  .add(TaskPhase, { id: 'TaskPhase' })
  .add(ApprovalView, { id: 'Approval' })
  .add(ArtifactView, { id: 'Artifact' })
  .add(Scope, { id: 'Scope' });

const DEFS = '#/$defs/';
const COMPONENTS = '#/components/schemas/';

/** The fields that the server replaces by the owner of the token. */
const FILLED_IN: ReadonlySet<string> = new Set([
  'by',
  'requestedBy',
  'agent',
  'onBehalfOf',
  'rollbackOf',
  'evidence',
]);

const withoutFilledIn = (schema: Schema): Schema => {
  const { properties } = schema;
  if (typeof properties !== 'object' || properties === null) return schema;
  const kept = Object.entries(properties).filter(([name]) => !FILLED_IN.has(name));
  return { ...schema, properties: Object.fromEntries(kept) };
};

type Parts = {
  readonly description: string;
  readonly request: z.ZodType;
  readonly response: z.ZodType;
};

const partsOf = ({ to }: HttpRoute): Parts => {
  const [service = '', endpoint = ''] = to.split('.');
  const table: Readonly<Record<string, Readonly<Record<string, Parts>>>> = { ...api, http: httpApi };
  const found = table[service]?.[endpoint];
  if (found === undefined) throw new Error(`no contract for ${to}`);
  return to === 'orchestrator.submit' ? { ...found, request: NamedTask } : found;
};

const scopeOf = ({ to }: HttpRoute): Scope | 'any' | undefined => {
  const [service = '', endpoint = ''] = to.split('.');
  return service === 'http'
    ? HTTP_SCOPES[endpoint as keyof typeof HTTP_SCOPES]
    : scopeOfEndpoint(service, endpoint);
};

const camel = (text: string): string =>
  text.replaceAll(/[_.-]([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** `approvals.rule_add` is `approvalsRuleAdd`, and `http.effect_hold` is `effectHold`. */
const operationIdOf = ({ to }: HttpRoute): string => camel(to.replace(/^http\./, ''));

const tagOf = ({ path }: HttpRoute): string => path.split('/')[1]?.split('.')[0] ?? '';

/** Collects the shared schemas of a document. */
const createSchemas = () => {
  const components = new Map<string, Schema>();
  // Generators of clients fail on a schema that contains itself.
  const ANY: Schema = { description: 'Any JSON value.' };

  const rewritten = (value: unknown, names: ReadonlyMap<string, string>): unknown => {
    if (Array.isArray(value)) return value.map((each) => rewritten(each, names));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) =>
        key === '$ref' && typeof inner === 'string' && inner.startsWith(DEFS)
          ? [key, COMPONENTS + (names.get(inner.slice(DEFS.length)) ?? inner.slice(DEFS.length))]
          : [key, rewritten(inner, names)],
      ),
    );
  };

  /** The schema with references to shared ones. Unknown fields are valid in answers: newer services add some. */
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): Schema => {
    const made = z.toJSONSchema(schema, {
      target: 'draft-2020-12',
      io,
      metadata: named,
      override: ({ jsonSchema }) => {
        if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames;
        if (io === 'output' && jsonSchema.additionalProperties === false)
          delete jsonSchema.additionalProperties;
        delete (jsonSchema as Schema)['id'];
      },
    });
    const { $schema: _, $defs = {}, ...root } = made as Schema & { readonly $defs?: Record<string, Schema> };
    // A shared schema with defaults differs between requests and answers.
    const nameOf = (name: string, schemaOfName: Schema): string => {
      if (name.startsWith('__'))
        throw new Error(`a schema that contains itself needs a name: ${JSON.stringify(schemaOfName)}`);
      if (name === 'Json') return name;
      return io === 'input' ? `${name}Input` : name;
    };
    const names = new Map(Object.entries($defs).map(([name, each]) => [name, nameOf(name, each)]));
    for (const [name, each] of Object.entries($defs)) {
      const own = names.get(name) ?? name;
      components.set(own, own === 'Json' ? ANY : (rewritten(each, names) as Schema));
    }
    return rewritten(root, names) as Schema;
  };

  return { components, schemaOf };
};

const PROBLEM_REF = { $ref: '#/components/responses/Problem' } as const;

/** Statuses of every route with a token, and of those with a body. */
const STATUSES = ['400', '401', '403', '404', '409', '413', '422', '429', '500', '503'] as const;
const PUBLIC_STATUSES = ['500', '503'] as const;

const parameterOf = (
  name: string,
  where: 'path' | 'query',
  schema: unknown,
  required: boolean,
): Document => ({
  name,
  in: where,
  required: where === 'path' || required,
  ...(where === 'query' && { style: 'form', explode: true }),
  schema,
});

const headerOf = (name: string, description: string, schema: Document = { type: 'string' }): Document => ({
  name,
  in: 'header',
  required: false,
  description,
  schema,
});

const IDEMPOTENCY = headerOf('Idempotency-Key', 'A repeated command with the same key counts once');

const json = (schema: Document): Document => ({ 'application/json': { schema } });
const bytes = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
const ETAG = { ETag: { description: 'Version of the answer', schema: { type: 'string' } } };

/** The answers about one thing: a client that has it already gets no body. */
const TAGGED: ReadonlySet<HttpRoute['to']> = new Set([
  'http.effect_get',
  'http.capability_get',
  'approvals.get',
  'orchestrator.get',
]);

/** The answers of routes that are more than one JSON object. */
const answersOf = ({ to }: HttpRoute, schema: () => Schema): Document => {
  switch (to) {
    case 'http.effect_hold':
      return {
        '200': { description: 'The effect of an earlier request', content: json(schema()) },
        '201': { description: 'A new effect', content: json(schema()) },
      };
    case 'http.task_events':
      return {
        '200': {
          description: 'Events `event`, `log`, `reset` and `error`, each with JSON data',
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        },
      };
    case 'http.artifact_content':
      return {
        '200': { description: 'The content', headers: ETAG, content: bytes },
        '206': { description: 'The range', headers: ETAG, content: bytes },
        '304': { description: 'Unchanged' },
        '416': PROBLEM_REF,
      };
    default:
      if (!TAGGED.has(to)) return { '200': { description: 'OK', content: json(schema()) } };
      return {
        '200': { description: 'OK', headers: ETAG, content: json(schema()) },
        '304': { description: 'Unchanged' },
      };
  }
};

const headersOf = ({ method, to }: HttpRoute): readonly Document[] => {
  if (method === 'POST') return [IDEMPOTENCY];
  const match = headerOf('If-None-Match', 'An `ETag`: unchanged content is answered with 304');
  if (TAGGED.has(to)) return [match];
  if (to === 'http.artifact_content') return [match, headerOf('Range', 'One range, such as `bytes=0-1023`')];
  return to === 'http.task_events'
    ? [headerOf('Last-Event-ID', 'The last event id that the client has')]
    : [];
};

const operationOf = (route: HttpRoute, schemaOf: ReturnType<typeof createSchemas>['schemaOf']): Document => {
  const { description, request, response } = partsOf(route);
  const scope = scopeOf(route);
  const whole = withoutFilledIn(schemaOf(request, 'input'));
  const properties = (whole['properties'] ?? {}) as Readonly<Record<string, Schema>>;
  const required = (whole['required'] ?? []) as readonly string[];
  const inPath = new Set([...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name));
  const rest = Object.entries(properties).filter(([name]) => !inPath.has(name));
  const needed = required.filter((name) => !inPath.has(name));
  const isPost = route.method === 'POST';
  const body =
    inPath.size === 0 ? whole : { ...whole, properties: Object.fromEntries(rest), required: needed };
  return {
    operationId: operationIdOf(route),
    tags: [tagOf(route)],
    summary: description,
    ...(scope === undefined
      ? { security: [] }
      : { description: scope === 'any' ? 'Any valid token.' : `Scope of the token: \`${scope}\`.` }),
    parameters: [
      ...[...inPath].map((name) => parameterOf(name, 'path', properties[name] ?? { type: 'string' }, true)),
      ...(isPost
        ? []
        : rest.map(([name, schema]) => parameterOf(name, 'query', schema, required.includes(name)))),
      ...headersOf(route),
    ],
    ...(isPost && { requestBody: { required: needed.length > 0, content: json(body) } }),
    responses: {
      ...answersOf(route, () => schemaOf(response, 'output')),
      ...Object.fromEntries(
        (scope === undefined ? PUBLIC_STATUSES : STATUSES).map((status) => [status, PROBLEM_REF]),
      ),
    },
  };
};

const PROBLEM: Document = {
  type: 'object',
  description: 'An error (RFC 9457). Codes are stable, texts are not.',
  required: ['type', 'title', 'status', 'detail', 'code', 'message'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', examples: ErrorCode.options.slice(0, 3) },
    message: { type: 'string', description: 'The same as `detail`.' },
    details: { type: 'object', additionalProperties: true },
  },
};

const DESCRIPTION = `Hold every side effect until an approver approves that exact effect.

Lists have pages: \`next\` of an answer is \`after\` of the next request. Bodies have at most 272 KiB.
Errors are problem documents with a stable \`code\`. Times are epoch milliseconds, durations are milliseconds.`;

const build = (): Document => {
  const { components, schemaOf } = createSchemas();
  const paths: Record<string, Record<string, Document>> = {};
  for (const route of HTTP_ROUTES) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[route.method.toLowerCase()] = operationOf(route, schemaOf);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdpoint',
      version: VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    security: [{ token: [] }],
    tags: [...new Set(HTTP_ROUTES.map(tagOf))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token of `holdpoint token create`.' },
      },
      responses: {
        Problem: {
          description: 'An error',
          content: { 'application/problem+json': { schema: { $ref: `${COMPONENTS}Problem` } } },
        },
      },
      schemas: {
        Problem: PROBLEM,
        ...Object.fromEntries([...components].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      },
    },
  };
};

let built: Document | undefined;

/** The HTTP API as a generated OpenAPI 3.1 document. */
export const openApiDocument = (): Document => (built ??= build());
