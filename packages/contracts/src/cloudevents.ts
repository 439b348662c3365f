import { type Aggregate, type ServiceName } from './subjects.ts';

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
export const cloudEventHeaders = (event: CloudEvent): HeaderPairs => [
  [HEADERS.messageId, event.id],
  [HEADERS.specVersion, '1.0'],
  [HEADERS.id, event.id],
  [HEADERS.source, `/holdpoint/${event.source}`],
  [HEADERS.type, event.type],
  [HEADERS.subject, event.subject],
  [HEADERS.time, new Date(event.time).toISOString()],
  [HEADERS.contentType, 'application/json'],
  ...(event.version === undefined ? [] : [[HEADERS.version, String(event.version)] as const]),
  ...(event.trace === undefined ? [] : [[HEADERS.trace, event.trace] as const]),
];
