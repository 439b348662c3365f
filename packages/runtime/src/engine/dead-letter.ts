import { cloudEventHeaders } from '@holdpoint/contracts/bus/cloudevents';
import { BODY_MAX_BYTES, type DeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import type { WireMessage } from './ports.ts';

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
const KEPT = /^(ce-|nats-|content-type$|traceparent$)/i;

const keptOf = (headers: DeadMessage['headers']): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => KEPT.test(name)));

/** The same id for every delivery of a message, so that it has one dead letter. */
export const deadLetterIdOf = (service: ServiceName, identity: string): string =>
  `dlq.${service}.${sha256Of(identity).slice(0, 24)}`;

/** The dead letter of a message that the service cannot handle. */
export const deadLetterOf = (service: ServiceName, message: DeadMessage, reason: ErrorBody): WireMessage => {
  const letter: DeadLetter = {
    subject: message.subject,
    reason,
    headers: keptOf(message.headers),
    body: new TextDecoder().decode(message.data.subarray(0, BODY_MAX_BYTES)),
    bodyBytes: message.data.length,
    bodySha256: sha256Of(message.data),
    deliveries: message.deliveries,
    at: message.at,
  };
  const headers = cloudEventHeaders({
    id: deadLetterIdOf(service, message.identity),
    source: service,
    type: 'dev.holdpoint.dead_letter.v1',
    subject: service,
    time: message.at,
  });
  return { subject: subjects.deadLetter(service), headers, body: JSON.stringify(letter) };
};
