import { type Aggregate, type ServiceName } from './subjects.ts';

/** The surface that a client claims, for the record. */
export const SURFACE_HEADER = 'holdpoint-surface';

/** Header names of CloudEvents 1.0 in binary mode on NATS, of JetStream, and of W3C trace context. */
export const HEADERS = {
  messageId: 'Nats-Msg-Id',
  contentType: 'content-type',
  specVersion: 'ce-specversion',
  id: 'ce-id',
  source: 'ce-source',
  type: 'ce-type',
  subject: 'ce-subject',
  time: 'ce-time',
  /** Extension: version of the event's aggregate. Gaps are events without a message. */
  version: 'ce-version',
  trace: 'traceparent',
  /** Signature over subject, `ce-id` and body, together with the messages that left at the same time. */
  seal: 'holdpoint-seal',
} as const;

/** `traceparent` of W3C Trace Context, version 00 and compatible ones. */
const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** The trace context in a header; other content is not forwarded. */
export const traceOf = (header: string | undefined): string | undefined =>
  header !== undefined && TRACEPARENT.test(header) ? header : undefined;

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

export const headerIn = (headers: HeaderPairs, name: string): string | undefined =>
  headers.find(([each]) => each === name)?.[1];

export type CloudEvent = {
  readonly id: string;
  readonly source: ServiceName | 'client';
  readonly type: string;
  /** Id of the aggregate. */
  readonly subject: string;
  /** Epoch milliseconds. */
  readonly time: number;
  readonly version?: number | undefined;
  readonly trace?: string | undefined;
};

/** `dev.holdpoint.task.completed.v1` */
export const eventType = (aggregate: Aggregate, event: string): string =>
  `dev.holdpoint.${aggregate}.${event}.v1`;

let latest = { time: NaN, text: '' };
/** All messages of a transaction have one time. */
const instantOf = (time: number): string => {
  if (time !== latest.time) latest = { time, text: new Date(time).toISOString() };
  return latest.text;
};

/** CloudEvents attributes as headers. The message id equals `ce-id`, so JetStream drops duplicates. */
export const cloudEventHeaders = (event: CloudEvent): HeaderPairs => {
  const trace = traceOf(event.trace);
  return [
    [HEADERS.messageId, event.id],
    [HEADERS.specVersion, '1.0'],
    [HEADERS.id, event.id],
    [HEADERS.source, `/holdpoint/${event.source}`],
    [HEADERS.type, event.type],
    [HEADERS.subject, event.subject],
    [HEADERS.time, instantOf(event.time)],
    [HEADERS.contentType, 'application/json'],
    ...(event.version === undefined ? [] : [[HEADERS.version, String(event.version)] as const]),
    ...(trace === undefined ? [] : [[HEADERS.trace, trace] as const]),
  ];
};
