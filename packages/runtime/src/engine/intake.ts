import { type ErrorBody, toErrorBody } from '@holdpoint/contracts/values/errors';
import { isFromPeople } from '@holdpoint/contracts/bus/senders';
import { HEADERS, traceOf } from '@holdpoint/contracts/bus/cloudevents';
import { type ConsumerDeclaration, DELIVERIES_MAX } from '@holdpoint/contracts/bus/streams';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { deadLetterOf } from './dead-letter.ts';
import type { Engine } from './engine.ts';
import type { CheckSeal } from './seals.ts';
import { type Arrival, parseJson, type Routed } from './inbound.ts';
import type { Addressed } from './kinds.ts';
import { errorFields } from './error-fields.ts';
import type { CoreLog } from './core-log.ts';
import { traceFields } from './telemetry.ts';

/** One durable consumer, and the decoder of its messages. A decoder returns `undefined` for a message that the service ignores. */
export type Inbound<To extends Addressed> = {
  readonly consumer: ConsumerDeclaration;
  /** Filters by subject: other messages are acknowledged unread. Left out: every message is read. */
  readonly wants?: (subject: string) => boolean;
  readonly decode: (subject: string, payload: unknown, meta: Arrival) => Routed<To> | undefined;
};

/** A message as a consumer delivers it. */
export interface Delivery {
  readonly subject: string;
  readonly data: Uint8Array;
  /** Number of deliveries, including this one. */
  readonly deliveries: number;
  /** The same for every delivery of the message. */
  readonly identity: string;
  /** When the bus stored it, in epoch milliseconds. */
  readonly at: number;
  header(name: string): string | undefined;
  headers(): Record<string, string>;
  ack(): void;
  /** Asks the bus to deliver it again after this delay. */
  giveBack(delayMs: number): void;
}

const contextOf = (delivery: Delivery) => traceFields(traceOf(delivery.header(HEADERS.trace)));

/** A key is asked for at once, so the message need not wait long. */
const KEY_RETRY_MS = 500;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;
const backoffMs = (deliveries: number): number =>
  Math.min(FIRST_RETRY_MS * 2 ** (deliveries - 1), LAST_RETRY_MS);

/** The id of a message without a valid seal proves nothing: its dead letter has another one. */
export const unsealedIdentity = ({ identity, data }: Pick<Delivery, 'identity' | 'data'>): string =>
  `unsealed/${identity}/${sha256Of(data)}`;

/**
 * Hands the deliveries of one consumer to the engine; the only place that acknowledges. A message is acknowledged once its
 * decision, or its dead letter, is committed.
 */
export const createIntake = <To extends Addressed>(
  inbound: Inbound<To>,
  engine: Pick<Engine<To>, 'accept' | 'keepDeadLetter' | 'hasDecided'>,
  log: CoreLog,
  checkSeal: CheckSeal,
): ((delivery: Delivery) => void) => {
  const { service } = inbound.consumer;

  const deadLetter = (delivery: Delivery, reason: ErrorBody, identity = delivery.identity): void => {
    const { subject, data, deliveries, at } = delivery;
    log.warn(
      { ...contextOf(delivery), subject, code: reason.code, deliveries },
      'message goes to the dead letters',
    );
    const letter = deadLetterOf(
      service,
      { subject, data, deliveries, at, identity, headers: delivery.headers() },
      reason,
    );
    engine.keepDeadLetter(letter, () => delivery.ack());
  };

  const retry = (delivery: Delivery, reason: ErrorBody, cause: unknown): void => {
    const { subject, deliveries } = delivery;
    log.error(
      { ...errorFields(cause), ...contextOf(delivery), subject, deliveries },
      'message could not be handled',
    );
    if (deliveries >= DELIVERIES_MAX) deadLetter(delivery, reason);
    else delivery.giveBack(backoffMs(deliveries));
  };

  return (delivery) => {
    if (inbound.wants?.(delivery.subject) === false) return delivery.ack();
    if (engine.hasDecided(delivery.identity)) return delivery.ack();
    const seal = isFromPeople(delivery.subject) ? undefined : checkSeal(delivery);
    if (seal !== undefined && 'error' in seal)
      return deadLetter(delivery, seal.error, unsealedIdentity(delivery));
    if (seal !== undefined && 'ignored' in seal) return delivery.ack();
    if (seal !== undefined && 'later' in seal) return delivery.giveBack(KEY_RETRY_MS);
    let routed: Routed<To> | undefined;
    try {
      const { subject, data, identity } = delivery;
      const arrived = { at: delivery.at, header: (name: string) => delivery.header(name) };
      routed = inbound.decode(subject, parseJson(data), { identity, arrived });
    } catch (error) {
      return deadLetter(delivery, toErrorBody(error));
    }
    if (routed === undefined) return delivery.ack();
    const { defer = false, onDone = () => undefined } = routed;
    if (defer) {
      onDone();
      return delivery.giveBack(backoffMs(delivery.deliveries));
    }
    engine.accept(
      { ...routed, trace: traceOf(delivery.header(HEADERS.trace)), sealKey: seal?.key },
      {
        committed: (answer) => {
          onDone();
          // No caller waits for an answer here, so a refusal goes where an operator finds it.
          if (answer !== undefined && 'error' in answer) deadLetter(delivery, answer.error);
          else delivery.ack();
        },
        failed: (reason, cause) => {
          onDone();
          // A message that is too large stays too large.
          if (reason.code === 'CONTRACT_PAYLOAD_TOO_LARGE') deadLetter(delivery, reason);
          else retry(delivery, reason, cause);
        },
        unavailable: () => {
          onDone();
          delivery.giveBack(backoffMs(delivery.deliveries));
        },
      },
    );
  };
};
