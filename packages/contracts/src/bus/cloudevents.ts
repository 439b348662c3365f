import { type Aggregate, type ServiceName } from './subjects.ts';

/** Where a person decides, as the program says that he uses: for the record. */
export const SURFACE_HEADER = 'holdpoint-surface';

/** Header names of CloudEvents 1.0 in binary mode on NATS, and the two of JetStream and W3C that travel with them. */
export const HEADERS = {
  messageId: 'Nats-Msg-Id',
  contentType: 'content-type',
  specVersion: 'ce-specversion',
  id: 'ce-id',
  source: 'ce-source',
  type: 'ce-type',
  subject: 'ce-subject',
  time: 'ce-time',
  /** Extension: the gapless version of the aggregate that a fact belongs to. */
  version: 'ce-version',
  trace: 'traceparent',
} as const;

/** `traceparent` as W3C Trace Context has it, version 00 and whatever else looks the same. */
const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** The trace that a header names. Anything else a sender put there is not handed on to everybody. */
export const traceOf = (header: string | undefined): string | undefined =>
  header !== undefined && TRACEPARENT.test(header) ? header : undefined;

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

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

/** The attributes as headers; the message id equals `ce-id`, so that JetStream drops what was published twice. */
export const cloudEventHeaders = (event: CloudEvent): HeaderPairs => {
  const trace = traceOf(event.trace);
  return [
    [HEADERS.messageId, event.id],
    [HEADERS.specVersion, '1.0'],
    [HEADERS.id, event.id],
    [HEADERS.source, `/holdpoint/${event.source}`],
    [HEADERS.type, event.type],
    [HEADERS.subject, event.subject],
    [HEADERS.time, new Date(event.time).toISOString()],
    [HEADERS.contentType, 'application/json'],
    ...(event.version === undefined ? [] : [[HEADERS.version, String(event.version)] as const]),
    ...(trace === undefined ? [] : [[HEADERS.trace, trace] as const]),
  ];
};
