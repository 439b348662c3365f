import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { type ErrorBody, errorBody, toErrorBody } from '@holdpoint/contracts/values/errors';
import type { Answer } from '../decider.ts';
import type { Clock } from '../engine/clock.ts';
import type { Callbacks } from '../engine/engine.ts';
import type { Routed } from '../engine/inbound.ts';
import type { Addressed } from '../engine/kinds.ts';
import type { Seals } from '../engine/seals.ts';
import { errorFields } from '../engine/error-fields.ts';
import { parseJson } from '../engine/inbound.ts';
import type { CoreLog } from '../engine/core-log.ts';

/** A message that is handed on. The sender has checked it, and the seal proves that the sender is the service itself. */
type Handed = { readonly to: Addressed; readonly trace?: string | undefined };
/** What the owner answers. `later`: it owns the service no longer. */
type Reply =
  | { readonly answer: Answer | null }
  | { readonly failed: ErrorBody }
  | { readonly unavailable: true }
  | { readonly later: true };

/** The way of bytes from one replica to another. */
export type HandOnBus = {
  /** Undefined without an answer in time, or when nobody listens. */
  readonly request: (
    subject: string,
    body: string,
    headers: readonly (readonly [string, string])[],
  ) => Promise<Uint8Array | undefined>;
  readonly listen: (subject: string, hear: (msg: HandOnMessage) => void) => { readonly stop: () => void };
};
export type HandOnMessage = {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly header: (name: string) => string | undefined;
  readonly respond: (body: string) => void;
};

export type HandOnOptions<To extends Addressed> = {
  readonly service: ServiceName;
  readonly bus: HandOnBus;
  readonly seals: Seals;
  readonly isOwner: () => boolean;
  /** Decides in this process. */
  readonly accept: (routed: Routed<To>, callbacks: Callbacks) => void;
  readonly log: CoreLog;
  /** Looks at the lease at once, because the owner stops. */
  readonly lookNow: () => Promise<void>;
  readonly clock: Pick<Clock, 'now' | 'after'>;
};

/** Shorter than a caller waits, longer than a lease lasts. */
const WITHIN_MS = 4_000;
const RETRY_MS = 100;

/**
 * Decides a message where the service has its owner: here, or by one request to the owner. While no process owns the service,
 * the message waits for the next one. Deciding twice changes nothing, so a request without an answer is sent again.
 */
export const createHandOn = <To extends Addressed>(options: HandOnOptions<To>) => {
  const { service, bus, seals, isOwner, accept, log, lookNow, clock } = options;
  const subject = subjects.own(service, 'decide');
  const stopped = subjects.own(service, 'stopped');

  const askOwner = async (routed: Routed<To>): Promise<Reply> => {
    const { kind, aggregate, message, trace } = routed;
    const body = JSON.stringify({ to: { kind, aggregate, message }, trace } satisfies Handed);
    const [sealed] = seals.seal([{ subject, headers: [[HEADERS.id, crypto.randomUUID()]], body }]);
    const data = sealed && (await bus.request(subject, body, sealed.headers));
    return data === undefined ? { later: true } : (parseJson(data) as Reply);
  };

  /** A process that loses the service meanwhile decides nothing. */
  const decideHere = (routed: Routed<To>): Promise<Reply> =>
    new Promise((resolve) => {
      accept(routed, {
        committed: (answer) => resolve({ answer: answer ?? null }),
        failed: (failed, cause) => {
          log.error(errorFields(cause), 'a request of a standby could not be decided');
          resolve({ failed });
        },
        unavailable: () => resolve(isOwner() ? { unavailable: true } : { later: true }),
      });
    });

  const pause = (): Promise<void> => new Promise((resolve) => void clock.after(RETRY_MS, resolve));

  const handOn = async (routed: Routed<To>, callbacks: Callbacks): Promise<void> => {
    for (const end = clock.now() + WITHIN_MS; clock.now() < end; await pause()) {
      if (isOwner()) return acceptHere(routed, callbacks);
      const reply = await askOwner(routed);
      if ('answer' in reply) return callbacks.committed(reply.answer ?? undefined);
      if ('failed' in reply) return callbacks.failed(reply.failed, new Error(reply.failed.message));
      if ('unavailable' in reply) break;
    }
    callbacks.unavailable();
  };

  const handOnSafely = (routed: Routed<To>, callbacks: Callbacks): void =>
    void handOn(routed, callbacks).catch((error: unknown) => callbacks.failed(toErrorBody(error), error));

  const acceptHere = (routed: Routed<To>, callbacks: Callbacks): void =>
    accept(routed, {
      ...callbacks,
      unavailable: () => (isOwner() ? callbacks.unavailable() : handOnSafely(routed, callbacks)),
    });

  const decideFor = async (msg: HandOnMessage): Promise<Reply> => {
    const finding = seals.check(msg);
    if ('error' in finding) return { failed: finding.error };
    if (!('key' in finding) || !isOwner()) return { later: true };
    const { to, trace } = parseJson(msg.data) as Handed;
    return decideHere({ ...(to as To), trace });
  };

  return {
    accept: (routed: Routed<To>, callbacks: Callbacks): void => {
      if (isOwner()) acceptHere(routed, callbacks);
      else handOnSafely(routed, callbacks);
    },
    /** Decides what standbys hand on. A process that owns nothing answers nothing. */
    serve: (): { readonly stop: () => void } =>
      bus.listen(subject, (msg) => {
        if (!isOwner()) return;
        decideFor(msg)
          .catch((error: unknown): Reply => {
            log.warn(errorFields(error), 'a request of a standby could not be handled');
            return { failed: errorBody('RUNTIME_POISON', 'the owner could not handle the request') };
          })
          .then((reply) => msg.respond(JSON.stringify(reply)))
          .catch((error: unknown) => log.warn(errorFields(error), 'a standby could not be answered'));
      }),
    /** Takes over as soon as the owner says that it stops. */
    standBy: (): { readonly stop: () => void } =>
      bus.listen(stopped, (msg) => {
        if (isOwner()) return;
        lookNow()
          .then(() => {
            if (isOwner()) msg.respond('{}');
          })
          .catch((error: unknown) => log.warn(errorFields(error), 'a takeover could not be confirmed'));
      }),
    /** Called after the release: resolves once another process has taken over, at once when there is none. */
    announceStop: async (): Promise<void> => {
      await bus.request(stopped, '{}', []);
    },
  };
};

export type HandOn<To extends Addressed> = ReturnType<typeof createHandOn<To>>;
