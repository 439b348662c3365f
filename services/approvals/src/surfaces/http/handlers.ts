import { hash } from 'node:crypto';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Scope } from '@holdpoint/contracts/approval/access-token';
import { api } from '@holdpoint/contracts/catalog/api';
import { openApiDocument } from '@holdpoint/contracts/generate/openapi';
import { httpApi, type HttpRoute } from '@holdpoint/contracts/catalog/http-api';
import { HTTP_SCOPES, scopeOfEndpoint } from '@holdpoint/contracts/catalog/scopes';
import { HoldEffect } from '@holdpoint/contracts/effect/hold';
import { remoteNameIn } from '@holdpoint/contracts/effect/remote-name';
import { Claim } from '@holdpoint/contracts/effect/remote';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { TaskView } from '@holdpoint/contracts/task/views';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import type { RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import type { Context, Handler } from 'hono';
import type { z } from 'zod';
import type { ServerResponse } from 'node:http';
import { endpoints } from '../../api.ts';
import { callerOf } from '../../callers.ts';
import { listCallbacks } from '../../queries/callbacks.ts';
import { listCapabilities } from '../../queries/capabilities.ts';
import { findWaiting } from '../../queries/requests.ts';
import type { SurfaceDeps } from '../surface-deps.ts';
import { type AnyEndpoint, askEndpoint, callerIn, type Env, withTimeout } from './api.ts';
import { answerArtifact } from './artifact.ts';
import { readBody } from './body.ts';
import { type Asker, createEffects } from './effects/effects.ts';
import { accessTo } from './endpoint-access.ts';
import { createForwarder, unknownEndpoint } from './forward.ts';
import { createPolls } from './polls.ts';
import { requestOf } from './request.ts';

/** A request for the events of a task, as the surface of live events takes it. */
export type Attend = (
  response: ServerResponse,
  wanted: {
    readonly authorization: string | undefined;
    readonly source: string;
    readonly task: string;
    readonly after?: string | undefined;
    readonly log: boolean;
  },
) => Promise<void>;

export type HandlerParts = {
  readonly deps: SurfaceDeps;
  readonly listener: Pick<Listener, 'call' | 'wake'>;
  readonly attend: Attend;
};

type Answering = (context: Context<Env>, asker: Asker) => Promise<Response>;
type Target = { readonly scope: Scope | undefined; readonly answer: Answering };

/** A claim is answered at most this long after its wait. Milliseconds. */
const CLAIM_MARGIN_MS = 5_000;

const isMatched = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((each) => each.trim().replace(/^W\//, '') === etag || each.trim() === '*');

/** Answers with a tag, so that a client need not read an unchanged body again. */
const tagged = (context: Context<Env>, tag: string, body: string): Response => {
  const etag = `"${tag}"`;
  context.header('etag', etag);
  return isMatched(context.req.header('if-none-match'), etag)
    ? context.body(null, 304)
    : context.body(body, 200, { 'content-type': 'application/json' });
};

/** The tag of a task is its version. */
const taskAnswer = (context: Context<Env>, answer: unknown): Response => {
  const { data: task } = TaskView.pick({ version: true }).safeParse(answer);
  return task === undefined
    ? context.json(answer)
    : tagged(context, String(task.version), JSON.stringify(answer));
};

/** The tag of any other answer is the SHA-256 of its body. */
const bodyAnswer = (context: Context<Env>, answer: unknown): Response => {
  const body = JSON.stringify(answer);
  return tagged(context, hash('sha256', body), body);
};

const answerOf = (to: HttpRoute['to']): ((context: Context<Env>, answer: unknown) => Response) => {
  if (to === 'orchestrator.get') return taskAnswer;
  return to === 'approvals.get' ? bodyAnswer : (context, answer) => context.json(answer);
};

const nameIn = (label: string): string => remoteNameIn(label) ?? label;

const unknownCapability = (name = 'none'): HoldpointError =>
  new HoldpointError('APPROVALS_UNKNOWN_CAPABILITY', `unknown capability: ${name}; register it first`);

/** The handlers of the routes. Each authenticates before it parses: callers without the scope learn nothing from errors. */
export const createHandlers = ({ deps, listener, attend }: HandlerParts) => {
  const own = endpoints(deps) as Readonly<Record<string, AnyEndpoint>>;
  const forward = createForwarder(deps, listener);
  const polls = createPolls();
  const askOwn = (
    endpoint: string,
    request: unknown,
    { caller }: Pick<Asker, 'caller'>,
  ): Promise<unknown> => {
    if (own[endpoint] === undefined) throw unknownEndpoint();
    return askEndpoint(deps, own[endpoint], request, caller);
  };
  const capability = async (name: string): Promise<RegisteredCapability> => {
    const {
      items: [found],
    } = await listCapabilities(deps.pool, { name });
    if (found !== undefined) return found;
    throw unknownCapability(name);
  };
  const effects = createEffects({
    forward,
    listener,
    assertCallback: deps.webhooks.assertAllowed,
    callbacks: async ({ id, version }) => (await listCallbacks(deps.pool, { task: id, version })).items,
    capability,
  });

  const claim: Answering = async (context, { person, caller }) => {
    const body = parseAs(Claim, await readBody(context.req.raw));
    const { waitMs = 0 } = body;
    const names = body.uses.map(nameIn);
    // Such a claim never gets an order: no request names an unregistered capability.
    if ((await deps.capabilities.knowsOneOf(names)) === false) throw unknownCapability(names[0]);
    const place = waitMs > 0 ? polls.take(person) : undefined;
    const ask = (wait: number) =>
      forward({
        service: 'executor',
        endpoint: 'claim',
        body: { ...body, waitMs: wait },
        person,
        caller: { ...caller, identity: crypto.randomUUID() },
        withinMs: wait + CLAIM_MARGIN_MS,
      });
    let isAnswered = false;
    // A repeat ends the wait of a client that is gone: an order in its hands would end in doubt.
    const onClose = (): void => {
      if (!isAnswered && waitMs > 0) ask(0).catch(() => undefined);
    };
    context.env.outgoing.once('close', onClose);
    try {
      return context.json(await ask(waitMs));
    } finally {
      isAnswered = true;
      context.env.outgoing.off('close', onClose);
      place?.release();
    }
  };

  const http: { readonly [E in keyof typeof httpApi]: Answering } = {
    effect_hold: async (context, asker) => {
      const wanted = await requestOf({ method: 'POST' }, HoldEffect, context);
      const { isNew, effect } = await withTimeout(effects.hold(asker, wanted));
      return context.json(effect, isNew ? 201 : 200);
    },
    effect_get: async (context, asker) => {
      const { id, waitMs = 0, not } = await requestOf({ method: 'GET' }, httpApi.effect_get.request, context);
      if (waitMs === 0) return bodyAnswer(context, await withTimeout(effects.find(asker, id)));
      const place = polls.take(asker.person);
      const gone = new AbortController();
      const onClose = (): void => gone.abort();
      context.env.outgoing.once('close', onClose);
      const over = AbortSignal.any([gone.signal, AbortSignal.timeout(waitMs)]);
      try {
        return bodyAnswer(context, await effects.wait(asker, id, not, over));
      } finally {
        context.env.outgoing.off('close', onClose);
        place.release();
      }
    },
    effect_cancel: async (context, asker) => {
      const { id, reason } = await requestOf({ method: 'POST' }, httpApi.effect_cancel.request, context);
      return context.json(await withTimeout(effects.cancel(asker, id, reason)));
    },
    capability_get: async (context) => {
      const { name } = await requestOf({ method: 'GET' }, httpApi.capability_get.request, context);
      return bodyAnswer(context, await withTimeout(capability(name)));
    },
    task_answer: async (context, asker) => {
      const { id, answer, approval, ...decision } = await requestOf(
        { method: 'POST' },
        httpApi.task_answer.request,
        context,
      );
      const waiting = approval ?? (await findWaiting(deps.pool, id, decision.digest));
      const body = { ...decision, id: waiting, decision: answer };
      return context.json(await withTimeout(askOwn('decide', body, asker)));
    },
    task_events: async (context, asker) => {
      const wanted = await requestOf({ method: 'GET' }, httpApi.task_events.request, context);
      // The stream would look for an unknown task again and again.
      await forward({ service: 'orchestrator', endpoint: 'get', body: { id: wanted.id }, ...asker });
      await attend(context.env.outgoing, {
        authorization: asker.caller.header('authorization'),
        source: deps.sourceOf(context.env.incoming),
        task: wanted.id,
        after: wanted.after ?? context.req.header('last-event-id'),
        log: wanted.log === '1',
      });
      return RESPONSE_ALREADY_SENT;
    },
    artifact_content: async (context, asker) =>
      answerArtifact(context, (body) =>
        forward({ service: 'executor', endpoint: 'artifact', body, ...asker }),
      ),
    openapi: (context) => Promise.resolve(context.json(openApiDocument())),
  };

  /** A route of a bus endpoint: of this service, or of another one. */
  const busTarget = (route: HttpRoute, service: keyof typeof api, endpoint: string): Target => {
    const needed = scopeOfEndpoint(service, endpoint);
    const scope = needed === 'any' ? undefined : needed;
    const declared: Readonly<Record<string, { readonly request: z.ZodType }>> = api[service];
    const schema = accessTo(service, endpoint)?.takes ?? declared[endpoint]?.request;
    if (schema === undefined || needed === undefined) throw new Error(`no contract for ${route.to}`);
    if (route.to === 'executor.claim') return { scope, answer: claim };
    const answer: Answering = async (context, asker) => {
      const request = await requestOf(route, schema, context);
      const asked =
        service === 'approvals'
          ? askOwn(endpoint, request, asker)
          : forward({ service, endpoint, body: request as object, ...asker });
      const answered = await withTimeout(asked);
      return answerOf(route.to)(context, answered);
    };
    return { scope, answer };
  };

  const targetOf = (route: HttpRoute): Target => {
    const [service = '', endpoint = ''] = route.to.split('.');
    if (service !== 'http') return busTarget(route, service as keyof typeof api, endpoint);
    const name = endpoint as keyof typeof httpApi;
    const needed = HTTP_SCOPES[name];
    return { scope: needed === 'any' ? undefined : needed, answer: http[name] };
  };

  return (route: HttpRoute): Handler<Env> => {
    const { scope, answer } = targetOf(route);
    return async (context) => {
      const caller = callerIn(context, deps.sourceOf);
      const person =
        route.to === 'http.openapi' ? { name: '', groups: [] } : await callerOf(deps, caller, scope);
      return answer(context, { person, caller });
    };
  };
};
