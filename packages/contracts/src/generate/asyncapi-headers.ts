import { IDENTITY_HEADER } from '../approval/identity.ts';
import { eventType, HEADERS } from '../bus/cloudevents.ts';
import type { Message } from './json-schema.ts';
import { AGGREGATES } from '../bus/subjects.ts';

type Schema = Readonly<Record<string, unknown>>;

const text = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more });

const event = {
  [HEADERS.messageId]: text(
    'JetStream drops a second message with it within the duplicate window. Equals ce-id, except in repeats.',
  ),
  [HEADERS.specVersion]: text('CloudEvents version.', { const: '1.0' }),
  [HEADERS.id]: text('Id of the message, equal in repeats.'),
  [HEADERS.source]: text('Sender.', { pattern: '^/holdpoint/', examples: ['/holdpoint/orchestrator'] }),
  [HEADERS.type]: text('Type of the message.'),
  [HEADERS.subject]: text('Id of the aggregate.'),
  [HEADERS.time]: text("Time by the database's clock, RFC 3339.", { format: 'date-time' }),
  [HEADERS.contentType]: text('Media type of the body.', { const: 'application/json' }),
} as const satisfies Record<string, Schema>;

const identity = {
  [IDENTITY_HEADER]: text(
    'Identity assertion of the sender, from `hp.api.approvals.identify`. Without it a person is unverified.',
  ),
};
const seal = {
  [HEADERS.seal]: text(
    'Signature of the service that sent the message, over subject, ce-id and body. Commands of services have one, and the events that services decide on.',
  ),
};
const trace = { [HEADERS.trace]: text('W3C trace context, forwarded by every service.') };
const version = {
  [HEADERS.version]: text('Version of the aggregate. It grows; gaps are events without a message.', {
    pattern: '^[1-9][0-9]*$',
  }),
};

/** Headers shared by several messages, as components of the document. */
export const asyncApiHeaders = {
  commandHeaders: { type: 'object', properties: { ...event, ...seal, ...identity, ...trace } },
  eventHeaders: {
    type: 'object',
    properties: { ...event, ...version, ...seal, ...trace },
    required: [...Object.keys(event), HEADERS.version],
  },
  requestHeaders: {
    type: 'object',
    properties: { [HEADERS.id]: event[HEADERS.id], ...identity, ...trace },
  },
  decisionHeaders: {
    type: 'object',
    properties: { authorization: text('Credentials of the decider.', { pattern: '^Bearer .+' }), ...trace },
    required: ['authorization'],
  },
  errorHeaders: {
    type: 'object',
    properties: {
      'Nats-Service-Error-Code': text('HTTP status.', { pattern: '^[1-5][0-9]{2}$' }),
      'Nats-Service-Error': text('Stable error code, also in the body.'),
    },
    required: ['Nats-Service-Error-Code', 'Nats-Service-Error'],
  },
  noHeaders: { type: 'object' },
} as const;

const shared = (name: keyof typeof asyncApiHeaders): Schema => ({ $ref: `#/components/schemas/${name}` });

export const headersOf = ({ kind, name, service }: Message): Schema => {
  switch (kind) {
    case 'command':
      return shared('commandHeaders');
    case 'event': {
      if (service === undefined) return shared('eventHeaders');
      const type = eventType(AGGREGATES[service], name.slice(name.indexOf('.') + 1));
      return {
        allOf: [shared('eventHeaders'), { type: 'object', properties: { [HEADERS.type]: { const: type } } }],
      };
    }
    case 'work':
      return shared('commandHeaders');
    case 'log':
    case 'internal-event':
      return shared('noHeaders');
    case 'api':
      if (name === 'approvals.decide.request') return shared('decisionHeaders');
      if (name === 'error') return shared('errorHeaders');
      return name.endsWith('.request') ? shared('requestHeaders') : shared('noHeaders');
  }
};
