import { api } from '@holdpoint/contracts/catalog';
import { type ServiceName, subjects } from '@holdpoint/contracts/subjects';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { z } from 'zod';
import { errorFields } from '../error-fields.ts';
import { parseAs, parseJson } from '../inbound.ts';
import type { Logger } from '../log.ts';
import { askInboxOf } from './connection.ts';

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

/** What a service hears beside its consumers: at once or not at all. Nothing may depend on it alone. */
export interface Listener {
  /** Hands over the JSON of each message on these subjects. What is none is left out. */
  listen(filters: readonly string[], hear: (subject: string, body: unknown) => void): void;
  /** Asks another service; undefined when it does not answer in time, or with something else. */
  ask<S extends ServiceName, E extends keyof (typeof api)[S] & string>(
    service: S,
    endpoint: E,
    payload: Request<S, E>,
  ): Promise<Response<S, E> | undefined>;
}

const ANSWER_WITHIN_MS = 2_000;

export const createListener = (connection: NatsConnection, user: string, log: Logger): Listener => {
  const inbox = askInboxOf(user);

  /** An error in the callback of a subscription would end the subscription. */
  const handOver = (msg: Msg, hear: (subject: string, body: unknown) => void): void => {
    try {
      hear(msg.subject, parseJson(msg.data));
    } catch (error) {
      log.warn({ ...errorFields(error), subject: msg.subject }, 'what was heard could not be taken');
    }
  };

  const answerTo = async (subject: string, payload: unknown): Promise<unknown> => {
    const msg = await connection.request(subject, JSON.stringify(payload), {
      timeout: ANSWER_WITHIN_MS,
      noMux: true,
      reply: `${inbox}.${crypto.randomUUID()}`,
    });
    // A refusal says so in a header.
    return msg.headers?.get('Nats-Service-Error-Code') ? undefined : parseJson(msg.data);
  };

  return {
    listen: (filters, hear) => {
      for (const filter of filters)
        connection.subscribe(filter, {
          callback: (error, msg) => {
            if (error === null) handOver(msg, hear);
          },
        });
    },
    ask: async (service, endpoint, payload) => {
      try {
        const answer = await answerTo(subjects.api(service, endpoint), payload);
        if (answer === undefined) return undefined;
        const schema = api[service][endpoint] as { readonly response: z.ZodType };
        return parseAs(schema.response, answer) as Response<typeof service, typeof endpoint>;
      } catch (error) {
        log.debug({ ...errorFields(error), service, endpoint }, 'no answer');
        return undefined;
      }
    },
  };
};
