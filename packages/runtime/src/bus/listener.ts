import { api } from '@holdpoint/contracts/catalog/api';
import { ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { IDENTITY_HEADER } from '@holdpoint/contracts/approval/identity';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { isSealed } from '@holdpoint/contracts/bus/senders';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { z } from 'zod';
import { errorFields } from '../engine/error-fields.ts';
import type { CheckSeal } from '../engine/seals.ts';
import { parseAs, parseJson } from '../engine/inbound.ts';
import type { Logger } from '../observability/log.ts';
import { askInboxOf, onReconnect } from './connection.ts';

type Request<S extends ServiceName, E extends keyof (typeof api)[S]> = (typeof api)[S][E] extends {
  request: infer Schema extends z.ZodType;
}
  ? z.input<Schema>
  : never;
type Response<S extends ServiceName, E extends keyof (typeof api)[S]> = (typeof api)[S][E] extends {
  response: infer Schema extends z.ZodType;
}
  ? z.output<Schema>
  : never;

/** The response of another service. */
export type Answer = { readonly ok: unknown } | { readonly error: ErrorBody };

/** Called with the JSON body of a message and a lookup of its headers. */
export type OnMessage = (
  subject: string,
  body: unknown,
  header: (name: string) => string | undefined,
) => void;

/**
 * Messages beside the consumers of a service: received live or not at all. Nothing may depend on them alone.
 */
export interface Listener {
  /** Calls back with each message on these subjects. Messages that are not JSON are skipped. */
  listen(filters: readonly string[], hear: OnMessage): { readonly stop: () => void };
  /**
   * Calls back for each message on these subjects, without its content: the caller reads what has changed. So it checks no
   * seal, and a forged message costs a read.
   */
  wake(filters: readonly string[], wake: () => void): { readonly stop: () => void };
  /** Calls back after each reconnection: messages in between were missed. */
  reconnected(then: () => void): { readonly stop: () => void };
  /**
   * Sends a request to another service. Undefined when it does not answer in time, refuses, or answers with
   * something else.
   */
  ask<S extends ServiceName, E extends keyof (typeof api)[S] & string>(
    service: S,
    endpoint: E,
    payload: Request<S, E>,
  ): Promise<Response<S, E> | undefined>;
  /**
   * Sends a request for a caller who needs the refusal. `RUNTIME_UNAVAILABLE` when the service does not answer in time; it may
   * have done the work nevertheless.
   */
  call(service: ServiceName, endpoint: string, payload: unknown, sent?: Sent): Promise<Answer>;
}

/** The message id, which a repeat keeps, and the trace. */
export type Sent = {
  readonly id?: string | undefined;
  readonly trace?: string | undefined;
  /** The identity assertion of the person for whom the service asks. */
  readonly identity?: string | undefined;
  /** Time for the answer; default 5 s. Milliseconds. */
  readonly withinMs?: number | undefined;
};

const ANSWER_WITHIN_MS = 2_000;
const CALL_WITHIN_MS = 5_000;
const REFUSED = 'Nats-Service-Error-Code';

export const createListener = (
  connection: NatsConnection,
  user: string,
  log: Logger,
  checkSeal: CheckSeal,
): Listener => {
  const inbox = askInboxOf(user);

  /** An error in the callback would end the subscription. */
  const handOver = (msg: Msg, hear: OnMessage): void => {
    try {
      const { headers, subject, data } = msg;
      const header = (name: string): string | undefined => headers?.get(name) || undefined;
      const seal = isSealed(subject) ? checkSeal({ subject, data, header }) : undefined;
      if (seal === undefined || 'key' in seal) hear(subject, parseJson(data), header);
      else if ('error' in seal) log.warn({ subject, code: seal.error.code }, 'received event is ignored');
    } catch (error) {
      log.warn({ ...errorFields(error), subject: msg.subject }, 'received message could not be handled');
    }
  };

  const request = (
    subject: string,
    payload: unknown,
    timeout: number,
    { id, trace, identity }: Sent = {},
  ): Promise<Msg> => {
    const sent = headers();
    if (id !== undefined) sent.set(HEADERS.id, id);
    if (trace !== undefined) sent.set(HEADERS.trace, trace);
    if (identity !== undefined) sent.set(IDENTITY_HEADER, identity);
    return connection.request(subject, JSON.stringify(payload), {
      timeout,
      headers: sent,
      noMux: true,
      reply: `${inbox}.${crypto.randomUUID()}`,
    });
  };

  const subscribe = (filters: readonly string[], take: (msg: Msg) => void) => {
    const subscriptions = filters.map((filter) =>
      connection.subscribe(filter, {
        callback: (error, msg) => {
          if (error === null) take(msg);
        },
      }),
    );
    return {
      stop: () => {
        for (const subscription of subscriptions) subscription.unsubscribe();
      },
    };
  };

  return {
    listen: (filters, hear) => subscribe(filters, (msg) => handOver(msg, hear)),
    wake: (filters, wake) => subscribe(filters, () => wake()),
    reconnected: (then) => onReconnect(connection, then),
    ask: async (service, endpoint, payload) => {
      try {
        const msg = await request(subjects.api(service, endpoint), payload, ANSWER_WITHIN_MS);
        // A refusal has this header.
        if (msg.headers?.get(REFUSED)) return undefined;
        const schema = api[service][endpoint] as { readonly response: z.ZodType };
        return parseAs(schema.response, parseJson(msg.data)) as Response<typeof service, typeof endpoint>;
      } catch (error) {
        log.debug({ ...errorFields(error), service, endpoint }, 'no answer');
        return undefined;
      }
    },
    call: async (service, endpoint, payload, sent) => {
      try {
        const { withinMs = CALL_WITHIN_MS } = sent ?? {};
        const msg = await request(subjects.api(service, endpoint), payload, withinMs, sent);
        const body = parseJson(msg.data);
        return msg.headers?.get(REFUSED) ? { error: parseAs(ErrorBody, body) } : { ok: body };
      } catch (error) {
        log.debug({ ...errorFields(error), service, endpoint }, 'no answer');
        const text = `the ${service} service does not answer: look again before you repeat it`;
        return { error: errorBody('RUNTIME_UNAVAILABLE', text) };
      }
    },
  };
};
