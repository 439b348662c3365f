import type { NatsConnection } from '@nats-io/transport-node';
import { type ServiceMsg, Svcm } from '@nats-io/services';
import { api } from '@holdpoint/contracts/catalog/api';
import type { AdminEndpoint, DeadLetterEndpoint } from '@holdpoint/contracts/catalog/endpoint';
import { HEADERS, traceOf } from '@holdpoint/contracts/bus/cloudevents';
import {
  type ErrorBody,
  errorBody,
  ErrorCode,
  ERRORS,
  HoldpointError,
  toErrorBody,
} from '@holdpoint/contracts/values/errors';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { orderedUuid } from '@holdpoint/contracts/values/ids';
import { VERSION } from '@holdpoint/contracts/values/version';
import type { z } from 'zod';
import type { Engine } from '../engine/engine.ts';
import { type Meta, parseAs, parseJson, type Routed } from '../engine/inbound.ts';
import type { Addressed } from '../engine/kinds.ts';
import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from '../observability/log.ts';
import { isAway } from '../store/errors.ts';

export type Caller = Meta & {
  readonly header: (name: string) => string | undefined;
  /** The address of a caller over HTTP. Callers on the bus have none. */
  readonly source?: string;
};

type Output<S extends ServiceName, E extends keyof (typeof api)[S], Side extends 'request' | 'response'> =
  (typeof api)[S][E] extends Record<Side, infer Schema extends z.ZodType> ? z.output<Schema> : never;

/** An endpoint sends a message to an aggregate, or reads the store. */
export type Endpoint<To extends Addressed, Request, Response> =
  | { readonly command: (request: Request, caller: Caller) => Routed<To> | Promise<Routed<To>> }
  | {
      readonly query: (request: Request, caller: Caller) => Promise<Response>;
      /** Its answer is a decision. */
      readonly decides?: true;
    };

export type Endpoints<S extends ServiceName, To extends Addressed> = {
  readonly [E in keyof (typeof api)[S]]: Endpoint<To, Output<S, E, 'request'>, Output<S, E, 'response'>>;
};

/** The endpoints that a service defines itself: the runtime adds those that every service has. */
export type OwnEndpoints<S extends ServiceName, To extends Addressed> = Omit<
  Endpoints<S, To>,
  AdminEndpoint | DeadLetterEndpoint
>;

/** Those that any replica answers: the owner of the service answers the others. */
export const queriesOf = <E extends object>(endpoints: E): E =>
  Object.fromEntries(
    Object.entries(endpoints as Record<string, object>).filter(
      ([, endpoint]) => !('command' in endpoint) && !('decides' in endpoint),
    ),
  ) as E;

type AnyEndpoint<To extends Addressed> = Endpoint<To, unknown, unknown>;

/** Serves `hp.api.<service>.*` on the NATS services framework. A caller is answered only after the commit. */
export const serveApi = async <S extends ServiceName, To extends Addressed>(
  connection: NatsConnection,
  service: S,
  endpoints: Endpoints<S, To>,
  engine: Pick<Engine<To>, 'accept'>,
  log: Logger,
): Promise<{ readonly stop: () => Promise<void> }> => {
  const micro = await new Svcm(connection).add({
    name: `holdpoint-${service}`,
    version: VERSION,
    description: `Holdpoint ${service}`,
  });
  const declared: Readonly<Record<string, { description: string; request: z.ZodType }>> = api[service];
  for (const [name, endpoint] of Object.entries(endpoints as Record<string, AnyEndpoint<To>>)) {
    const declaration = declared[name];
    if (declaration === undefined) throw new Error(`no contract for the endpoint ${service}.${name}`);
    micro.addEndpoint(name, {
      subject: subjects.api(service, name),
      metadata: { description: declaration.description },
      handler: (error, msg) => {
        if (error !== null) return;
        // The limit of the server is known once the connection stands.
        const answerMaxBytes = connection.info?.max_payload ?? PAYLOAD_MAX_BYTES;
        void answerRequest(msg, { endpoint, schema: declaration.request, engine, log, answerMaxBytes });
      },
    });
  }
  return { stop: async () => void (await micro.stop()) };
};

type Serving<To extends Addressed> = {
  readonly endpoint: AnyEndpoint<To>;
  readonly schema: z.ZodType;
  readonly engine: Pick<Engine<To>, 'accept'>;
  readonly log: Logger;
  readonly answerMaxBytes: number;
};

/** Malformed headers are found only when the client library parses them. */
const headersOf = (msg: Request): Caller['header'] => {
  try {
    const { headers } = msg;
    return (name) => headers?.get(name) || undefined;
  } catch (cause) {
    throw new HoldpointError('CONTRACT_INVALID', '(headers): they cannot be read', { cause });
  }
};

type Request = Pick<ServiceMsg, 'data' | 'headers' | 'subject' | 'respond' | 'respondError'>;

/** Answers one request, with the result or with an error code. Never throws. */
export const answerRequest = async <To extends Addressed>(
  msg: Request,
  serving: Serving<To>,
): Promise<void> => {
  const { endpoint, schema, engine, log, answerMaxBytes } = serving;
  const refuse = (error: ErrorBody): void => refuseWith(msg, error, answerMaxBytes);
  const respond = (answer: unknown): void => {
    const text = JSON.stringify(answer);
    if (Buffer.byteLength(text) <= answerMaxBytes) msg.respond(text);
    else refuse(errorBody('CONTRACT_PAYLOAD_TOO_LARGE', 'the answer is too large to be sent: ask for less'));
  };
  try {
    const request = parseAs(schema, parseJson(msg.data));
    const header = headersOf(msg);
    const identity = header(HEADERS.id) ?? header(HEADERS.messageId) ?? orderedUuid();
    if ('query' in endpoint) {
      respond(await endpoint.query(request, { identity, header }));
      return;
    }
    const routed = endpoint.command(request, { identity, header });
    engine.accept(
      { ...(routed instanceof Promise ? await routed : routed), trace: traceOf(header(HEADERS.trace)) },
      {
        committed: (made) => {
          if (made !== undefined && 'error' in made) refuse(made.error);
          else respond(made?.ok ?? {});
        },
        failed: (reason, cause) => {
          log.error({ ...errorFields(cause), subject: msg.subject }, 'request could not be handled');
          refuse(reason);
        },
        unavailable: () => refuse(unavailable()),
      },
    );
  } catch (error) {
    if (!(error instanceof HoldpointError))
      log.error({ ...errorFields(error), subject: msg.subject }, 'request failed');
    try {
      refuse(!(error instanceof HoldpointError) && isAway(error) ? unavailable() : toErrorBody(error));
    } catch (lost) {
      // The connection is closed, most likely because the service stops. The caller times out and may repeat the request.
      log.warn({ ...errorFields(lost), subject: msg.subject }, 'request could not be answered');
    }
  }
};

const unavailable = (): ErrorBody => errorBody('RUNTIME_UNAVAILABLE', 'the store does not answer; try again');

/** A refusal always fits into a message: when its text is too long, only the code is sent. */
const refuseWith = (msg: Request, error: ErrorBody, maxBytes: number): void => {
  const code = ErrorCode.safeParse(error.code);
  const text = JSON.stringify(error);
  const short = JSON.stringify({ code: error.code, message: 'the error text is too long to send' });
  // The headers repeat the code.
  const fits = Buffer.byteLength(text) + HEADERS_MAX_BYTES <= maxBytes;
  msg.respondError(code.success ? ERRORS[code.data] : 500, error.code, fits ? text : short);
};

const HEADERS_MAX_BYTES = 256;
