import type { z } from 'zod';
import { type Api, api } from '@holdpoint/contracts/catalog/api';
import { HTTP_ROUTES, httpApi, type NamedTask } from '@holdpoint/contracts/catalog/http-api';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { orderedUuid } from '@holdpoint/contracts/values/ids';
import { whileAway } from './backoff.ts';
import { createRequest, type HttpOptions } from './http-connection.ts';

type Table = Pick<Api, 'orchestrator' | 'approvals' | 'executor'> & { readonly http: typeof httpApi };
type Parts = { readonly request: z.ZodType; readonly response: z.ZodType };

type RequestOf<S extends keyof Table, E extends keyof Table[S]> = Table[S][E] extends Parts
  ? z.input<Table[S][E]['request']>
  : never;
type AnswerOf<S extends keyof Table, E extends keyof Table[S]> = Table[S][E] extends Parts
  ? z.output<Table[S][E]['response']>
  : never;

/** The server takes the name from the token. */
type Of<Request> = Omit<Request, 'id' | 'by' | 'agent'>;
type Filters<Request> = Omit<Request, 'after'>;
type Page<Item> = { readonly items: readonly Item[]; readonly next?: string | undefined };

const TABLE: Table = { ...api, http: httpApi };

/** The items of all pages, each page once it is needed. */
async function* itemsOf<Item>(
  page: (at: { readonly after?: string }) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, undefined> {
  for (let at: { readonly after?: string } | undefined = {}; at !== undefined;) {
    const { items, next }: Page<Item> = await page(at);
    yield* items;
    at = next === undefined ? undefined : { after: next };
  }
}

/** Fields that the path names, and the others. */
const placed = (path: string, asked: object): { readonly at: string; readonly rest: object } => {
  const rest = { ...asked } as Record<string, unknown>;
  const at = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = String(rest[name]);
    delete rest[name];
    return encodeURIComponent(value);
  });
  return { at, rest };
};

const queryOf = (fields: object): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined) query.append(name, String(each));
  return query.size === 0 ? '' : `?${query.toString()}`;
};

export type HttpClient = ReturnType<typeof createHttpClient>;

/**
 * A client of tasks, approvals and capabilities over HTTP alone. Requests and answers have the types of the contracts. Each rejects
 * with `HoldpointError` and the code of the service. Requests are repeated while Holdpoint is away: a command counts once.
 */
export const createHttpClient = (options: HttpOptions) => {
  const request = createRequest(options);

  const ask = <S extends keyof Table, E extends keyof Table[S] & string>(
    service: S,
    endpoint: E,
    asked: RequestOf<S, E> & object,
    idempotencyKey: string = orderedUuid(),
  ): Promise<AnswerOf<S, E>> => {
    const route = HTTP_ROUTES.find(({ to }) => to === `${service}.${endpoint}`);
    if (route === undefined) throw new TypeError(`no route to ${service}.${endpoint}`);
    const { response } = TABLE[service][endpoint] as unknown as {
      readonly response: z.ZodType<AnswerOf<S, E>>;
    };
    const { method } = route;
    const { at, rest } = placed(route.path, asked);
    const path = method === 'POST' ? at : `${at}${queryOf(rest)}`;
    const sent = method === 'POST' ? { body: rest, idempotencyKey } : {};
    return whileAway(() => request(method, path, response, sent));
  };

  return {
    tasks: {
      /** The same idempotency key is the same task. */
      submit: (task: Omit<z.input<typeof NamedTask>, 'requestedBy'>, idempotencyKey?: string) =>
        ask('orchestrator', 'submit', task, idempotencyKey),
      get: (id: string) => ask('orchestrator', 'get', { id }),
      list: (filters: Filters<RequestOf<'orchestrator', 'list'>> = {}) =>
        itemsOf((at) => ask('orchestrator', 'list', { ...filters, ...at })),
      cancel: (id: string, more: Of<RequestOf<'orchestrator', 'cancel'>> = {}) =>
        ask('orchestrator', 'cancel', { ...more, id }),
      pause: (id: string, more: Of<RequestOf<'orchestrator', 'pause'>> = {}) =>
        ask('orchestrator', 'pause', { ...more, id }),
      resume: (id: string, more: Of<RequestOf<'orchestrator', 'resume'>> = {}) =>
        ask('orchestrator', 'resume', { ...more, id }),
      /** Gives failed nodes another attempt. */
      retry: (id: string, more: Of<RequestOf<'orchestrator', 'retry'>> = {}) =>
        ask('orchestrator', 'retry', { ...more, id }),
      /** Answers the request that the task waits for. */
      answer: (id: string, answer: Of<RequestOf<'http', 'task_answer'>>) =>
        ask('http', 'task_answer', { ...answer, id }),
    },
    approvals: {
      /** By default the pending ones. */
      list: (filters: Filters<RequestOf<'approvals', 'list'>> = {}) =>
        itemsOf((at) => ask('approvals', 'list', { ...filters, ...at })),
      get: (id: string) => ask('approvals', 'get', { id }),
      /** Decides on exactly the effect that was read. Throws `APPROVALS_EFFECT_ALTERED` if it does not have the shown digest. */
      decide: async (
        seen: Pick<AnswerOf<'approvals', 'get'>, 'id' | 'effect' | 'digest'>,
        decision: RequestOf<'approvals', 'decide'>['decision'],
        more: Omit<Of<RequestOf<'approvals', 'decide'>>, 'decision' | 'digest'> = {},
      ) => {
        const { id, effect, digest } = seen;
        if (effectDigest(effect) !== digest)
          throw new HoldpointError(
            'APPROVALS_EFFECT_ALTERED',
            'the shown effect does not have the shown digest: read it again',
          );
        return ask('approvals', 'decide', { ...more, id, decision, digest });
      },
    },
    capabilities: {
      list: (filters: Filters<RequestOf<'approvals', 'capability_list'>> = {}) =>
        itemsOf((at) => ask('approvals', 'capability_list', { ...filters, ...at })),
      /** Further requests for its effects are refused. */
      withdraw: (name: string) => ask('approvals', 'capability_withdraw', { name }),
    },
    /** Programs that claim effects, and the orders in their hands. */
    claimants: async () => {
      const all: AnswerOf<'executor', 'claimants'>['items'][number][] = [];
      for await (const each of itemsOf((at) => ask('executor', 'claimants', at))) all.push(each);
      return all;
    },
  };
};
