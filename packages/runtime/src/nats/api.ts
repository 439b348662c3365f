import type { NatsConnection } from '@nats-io/transport-node';
import { type ServiceMsg, Svcm } from '@nats-io/services';
import { api } from '@holdpoint/contracts/catalog';
import { HEADERS } from '@holdpoint/contracts/cloudevents';
import {
  type ErrorBody,
  errorBody,
  ErrorCode,
  ERRORS,
  HoldpointError,
  toErrorBody,
} from '@holdpoint/contracts/errors';
import { type ServiceName, subjects } from '@holdpoint/contracts/subjects';
import type { z } from 'zod';
import type { Engine } from '../engine.ts';
import { type Meta, parseAs, parseJson, type Routed } from '../inbound.ts';
import { errorFields } from '../error-fields.ts';
import type { Logger } from '../log.ts';

export type Caller = Meta & { readonly header: (name: string) => string | undefined };

type Output<S extends ServiceName, E extends keyof (typeof api)[S], Side extends 'request' | 'response'> =
  (typeof api)[S][E] extends Record<Side, infer Schema extends z.ZodType> ? z.output<Schema> : never;

/** An endpoint either goes through the decider, or reads what is stored. */
export type Endpoint<Message, Request, Response> =
  | { readonly command: (request: Request, caller: Caller) => Routed<Message> }
  | { readonly query: (request: Request) => Promise<Response> };

export type Endpoints<S extends ServiceName, Message> = {
  readonly [E in keyof (typeof api)[S]]: Endpoint<Message, Output<S, E, 'request'>, Output<S, E, 'response'>>;
};

type AnyEndpoint<Message> = Endpoint<Message, unknown, unknown>;

/** Serves `hp.api.<service>.*` on the NATS services framework. A caller is answered only after the commit. */
export const serveApi = async <S extends ServiceName, Message>(
  connection: NatsConnection,
  service: S,
  endpoints: Endpoints<S, Message>,
  engine: Pick<Engine<Message>, 'accept'>,
  log: Logger,
): Promise<{ readonly stop: () => Promise<void> }> => {
  const micro = await new Svcm(connection).add({
    name: `holdpoint-${service}`,
    version: '0.1.0',
    description: `Holdpoint ${service}`,
  });
  const declared: Readonly<Record<string, { description: string; request: z.ZodType }>> = api[service];
  for (const [name, endpoint] of Object.entries(endpoints as Record<string, AnyEndpoint<Message>>)) {
    const declaration = declared[name];
    if (declaration === undefined) throw new Error(`no contract for the endpoint ${service}.${name}`);
    micro.addEndpoint(name, {
      subject: subjects.api(service, name),
      metadata: { description: declaration.description },
      handler: (error, msg) => {
        if (error === null) void answer(msg, endpoint, declaration.request, engine, log);
      },
    });
  }
  return { stop: async () => void (await micro.stop()) };
};

const answer = async <Message>(
  msg: ServiceMsg,
  endpoint: AnyEndpoint<Message>,
  schema: z.ZodType,
  engine: Pick<Engine<Message>, 'accept'>,
  log: Logger,
): Promise<void> => {
  try {
    const request = parseAs(schema, parseJson(msg.data));
    const header = (name: string): string | undefined => msg.headers?.get(name) || undefined;
    if ('query' in endpoint) {
      msg.respond(JSON.stringify(await endpoint.query(request)));
      return;
    }
    const identity = header(HEADERS.id) ?? header(HEADERS.messageId) ?? crypto.randomUUID();
    engine.accept({
      ...endpoint.command(request, { identity, header }),
      trace: header(HEADERS.trace),
      settled: (made) => {
        if (made !== undefined && 'error' in made) refuse(msg, made.error);
        else msg.respond(JSON.stringify(made?.ok ?? {}));
      },
      failed: (reason, cause) => {
        log.error({ ...errorFields(cause), subject: msg.subject }, 'request could not be handled');
        refuse(msg, reason);
      },
      unavailable: () =>
        refuse(msg, errorBody('RUNTIME_UNAVAILABLE', 'the store does not answer; ask again')),
    });
  } catch (error) {
    if (!(error instanceof HoldpointError))
      log.error({ ...errorFields(error), subject: msg.subject }, 'request failed');
    refuse(msg, toErrorBody(error));
  }
};

const refuse = (msg: ServiceMsg, error: ErrorBody): void => {
  const code = ErrorCode.safeParse(error.code);
  msg.respondError(code.success ? ERRORS[code.data] : 500, error.code, JSON.stringify(error));
};
