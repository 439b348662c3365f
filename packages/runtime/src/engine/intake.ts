import { type ErrorBody, toErrorBody } from '@holdpoint/contracts/values/errors';
import { HEADERS, traceOf } from '@holdpoint/contracts/bus/cloudevents';
import { type ConsumerDeclaration, DELIVERIES_MAX } from '@holdpoint/contracts/bus/streams';
import { deadLetterOf } from './dead-letter.ts';
import type { Engine } from './engine.ts';
import { type Meta, parseJson, type Routed } from './inbound.ts';
import { errorFields } from './error-fields.ts';
import type { CoreLog } from './core-log.ts';
import { traceFields } from './telemetry.ts';

/** One durable consumer and how its messages become the decider's. `undefined` means: not for this service. */
export type Inbound<Message> = {
  readonly consumer: ConsumerDeclaration;
  /** Looks at the subject alone: what it turns down is acknowledged without being read. Everything, when left out. */
  readonly wants?: (subject: string) => boolean;
  readonly decode: (subject: string, payload: unknown, meta: Meta) => Routed<Message> | undefined;
};

/** A message as a consumer hands it out, and the two things that can be said to it. */
export interface Delivery {
  readonly subject: string;
  readonly data: Uint8Array;
  /** How often it has been handed out, this time among them. */
  readonly deliveries: number;
  /** The same for every delivery of the message. */
  readonly identity: string;
  /** When the bus took it. Epoch milliseconds. */
  readonly at: number;
  header(name: string): string | undefined;
  headers(): Record<string, string>;
  ack(): void;
  /** Hand it out again, after this long. */
  giveBack(delayMs: number): void;
}

const aboutOf = (delivery: Delivery) => traceFields(traceOf(delivery.header(HEADERS.trace)));

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;
const backoffMs = (deliveries: number): number =>
  Math.min(FIRST_RETRY_MS * 2 ** (deliveries - 1), LAST_RETRY_MS);

/**
 * Takes what one consumer hands out into the engine; the only place that acknowledges. A message is acknowledged once what
 * it led to is committed, or once its dead letter is.
 */
export const createIntake = <Message>(
  inbound: Inbound<Message>,
  engine: Pick<Engine<Message>, 'accept' | 'post'>,
  log: CoreLog,
): ((delivery: Delivery) => void) => {
  const { service } = inbound.consumer;

  const bury = (delivery: Delivery, reason: ErrorBody): void => {
    const { subject, deliveries } = delivery;
    log.warn(
      { ...aboutOf(delivery), subject, code: reason.code, deliveries },
      'message goes to the dead letters',
    );
    const letter = deadLetterOf(service, { ...delivery, headers: delivery.headers() }, reason);
    engine.post(letter, () => delivery.ack());
  };

  const retryOrBury = (delivery: Delivery, reason: ErrorBody, cause: unknown): void => {
    const { subject, deliveries } = delivery;
    log.error(
      { ...errorFields(cause), ...aboutOf(delivery), subject, deliveries },
      'message could not be handled',
    );
    if (deliveries >= DELIVERIES_MAX) bury(delivery, reason);
    else delivery.giveBack(backoffMs(deliveries));
  };

  return (delivery) => {
    if (inbound.wants?.(delivery.subject) === false) return delivery.ack();
    let routed: Routed<Message> | undefined;
    try {
      const { subject, data, identity } = delivery;
      routed = inbound.decode(subject, parseJson(data), { identity });
    } catch (error) {
      return bury(delivery, toErrorBody(error));
    }
    if (routed === undefined) return delivery.ack();
    const { aggregate, message, later = false, released = () => undefined } = routed;
    if (later) {
      released();
      return delivery.giveBack(backoffMs(delivery.deliveries));
    }
    engine.accept({
      aggregate,
      message,
      trace: traceOf(delivery.header(HEADERS.trace)),
      settled: (answer) => {
        released();
        // Nobody waits for an answer here, so a refusal is kept where it can be seen.
        if (answer !== undefined && 'error' in answer) bury(delivery, answer.error);
        else delivery.ack();
      },
      failed: (reason, cause) => {
        released();
        // What its sender has made too large does not become smaller.
        if (reason.code === 'CONTRACT_PAYLOAD_TOO_LARGE') bury(delivery, reason);
        else retryOrBury(delivery, reason, cause);
      },
      unavailable: () => {
        released();
        delivery.giveBack(backoffMs(delivery.deliveries));
      },
    });
  };
};
