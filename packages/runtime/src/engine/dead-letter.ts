import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { DeadLetterRow } from './ports.ts';

export type DeadMessage = {
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
  readonly deliveries: number;
  /** The same for every delivery of the message. */
  readonly identity: string;
  readonly at: number;
};

// Only these headers are kept: others may hold secrets, and dead letters are kept for weeks.
const KEPT = /^(ce-|nats-|holdpoint-seal$|content-type$|traceparent$)/i;

/** PostgreSQL stores neither NUL nor half a character: a row with one would hold up every later batch. */
const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

const keptOf = (headers: DeadMessage['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => KEPT.test(name))
      .map(([name, value]) => [storable(name), storable(value)]),
  );

/** The same id for every delivery of a message, so that it has one dead letter. */
export const deadLetterKey = (service: ServiceName, identity: string): string =>
  `dlq.${service}.${sha256Of(identity).slice(0, 24)}`;

/** The dead letter of a message that the service cannot handle. A body that no service takes is cut. */
export const deadLetterOf = (
  service: ServiceName,
  { subject, headers, data, deliveries, identity, at }: DeadMessage,
  reason: ErrorBody,
): DeadLetterRow => ({
  id: deadLetterKey(service, identity),
  letter: {
    subject: storable(subject),
    reason,
    headers: keptOf(headers),
    bodyBytes: data.length,
    bodySha256: sha256Of(data),
    deliveries,
    at,
  },
  body: data.subarray(0, PAYLOAD_MAX_BYTES),
});

/** The identity under which the message of a dead letter was decoded. */
export const identityIn = (headers: DeadMessage['headers']): string | undefined =>
  headerIn(headers, HEADERS.id) ?? headerIn(headers, HEADERS.messageId);

export const headerIn = (headers: DeadMessage['headers'], name: string): string | undefined =>
  Object.entries(headers).find(([each]) => each.toLowerCase() === name.toLowerCase())?.[1];
