import { asyncApiChannels, type Channel } from './asyncapi-channels.ts';
import { asyncApiHeaders, headersOf } from './asyncapi-headers.ts';
import { type Message, messages, schemaFile } from './json-schema.ts';
import { consumers, PAYLOAD_MAX_BYTES, streams } from '../bus/streams.ts';

type Document = Readonly<Record<string, unknown>>;

const fromPairs = <Value>(pairs: readonly (readonly [string, Value])[]): Readonly<Record<string, Value>> =>
  Object.fromEntries(pairs);

const reference = (...path: readonly string[]): { readonly $ref: string } => ({
  $ref: `#/${path.join('/')}`,
});

/** Key of a message in this document, such as `command.task.submit`. */
const keyOf = ({ kind, name }: Pick<Message, 'kind' | 'name'>): string => `${kind}.${name}`;

const messageObject = (message: Message): Document => ({
  name: keyOf(message),
  title: message.name,
  summary: message.description,
  contentType: 'application/json',
  headers: headersOf(message),
  payload: {
    schemaFormat: 'application/schema+json;version=draft-2020-12',
    schema: { $ref: `./schemas/${schemaFile(message)}` },
  },
});

const channelObject = (channel: Channel): Document => ({
  address: channel.address,
  summary: channel.summary,
  messages: fromPairs(channel.messages.map((key) => [key, reference('components', 'messages', key)])),
  ...(channel.parameters !== undefined && {
    parameters: fromPairs(
      Object.entries(channel.parameters).map(([name, description]) => [name, { description }]),
    ),
  }),
  ...(channel.stream !== undefined && { 'x-nats-stream': channel.stream }),
});

const messagesIn = (channel: Channel): readonly { readonly $ref: string }[] =>
  channel.messages.map((key) => reference('channels', channel.key, 'messages', key));

const operation = (
  action: 'send' | 'receive',
  who: string,
  channel: Channel,
  more: Document = {},
): readonly [string, Document] => [
  `${who}.${action}s.${channel.key}`,
  {
    action,
    channel: reference('channels', channel.key),
    summary: channel.summary,
    messages: messagesIn(channel),
    tags: [{ name: who }],
    ...more,
  },
];

/** Whether a consumer's filter selects a channel. A parameter of the address matches any token. */
const selects = (filter: string, address: string): boolean => {
  const wanted = filter.split('.');
  const tokens = address.split('.');
  const open = wanted.at(-1) === '>';
  if (open ? tokens.length < wanted.length : tokens.length !== wanted.length) return false;
  return wanted.every(
    (token, i) =>
      token === '>' || token === '*' || tokens[i]?.startsWith('{') === true || token === tokens[i],
  );
};

const operationsOf = (
  channel: Channel,
  channels: readonly Channel[],
): readonly (readonly [string, Document])[] => {
  const sends = channel.senders.map((who) => operation('send', who, channel));
  if (channel.replyChannel === undefined) {
    const readers = consumers.filter(
      ({ filter, stream }) => stream === channel.stream && selects(filter, channel.address ?? ''),
    );
    const receives = readers.map(({ service, name }) =>
      operation('receive', service, channel, { 'x-nats-consumer': name }),
    );
    return [...sends, ...receives];
  }
  const answer = channels.find(({ key }) => key === channel.replyChannel);
  if (answer === undefined) throw new Error(`no channel ${channel.replyChannel}`);
  const reply = { channel: reference('channels', answer.key), messages: messagesIn(answer) };
  return [
    ...sends,
    ...channel.answeredBy.map((service) => operation('receive', service, channel, { reply })),
  ];
};

const streamObject = ({
  name,
  subjects,
  description,
  maxAgeMs,
  maxBytes,
  duplicateWindowMs,
}: (typeof streams)[number]) => ({
  name,
  description,
  subjects,
  retention: 'limits',
  discard: 'old',
  maxAgeMs,
  maxBytes,
  duplicateWindowMs,
});

const DESCRIPTION = `Four services on NATS JetStream hold every side effect until an approver approves that exact effect.

Bodies are JSON, at most ${String(PAYLOAD_MAX_BYTES)} bytes. CloudEvents 1.0 in binary mode: attributes are \`ce-\` headers, and the body is the data.
Headers are optional on commands and requests, and required on events. \`ce-id\` stays the same in repeats, but \`Nats-Msg-Id\` does not.
\`ce-version\` is the version of the aggregate. Its history in the API has no gaps; the bus carries public events alone, and may deliver them twice, late or not at all.
Each commit that changes a task ends with a public event or with \`task.changed\`: read \`history\` after your last version.
Unknown fields are ignored. Optional additions keep the version; other changes are a new version.`;

/** The whole bus as a generated AsyncAPI 3 document. */
export const asyncApiDocument = (): Document => {
  const channels = asyncApiChannels();
  return {
    asyncapi: '3.0.0',
    id: 'urn:holdpoint:bus',
    info: { title: 'Holdpoint', version: '1.0.0', description: DESCRIPTION },
    defaultContentType: 'application/json',
    servers: {
      local: {
        host: '127.0.0.1:4222',
        protocol: 'nats',
        description:
          'NATS 2.11 or later with JetStream. Users log in with nkeys, and may use only the subjects that they need.',
      },
    },
    channels: fromPairs(channels.map((channel) => [channel.key, channelObject(channel)])),
    operations: fromPairs(channels.flatMap((channel) => operationsOf(channel, channels))),
    components: {
      messages: fromPairs(messages.map((message) => [keyOf(message), messageObject(message)])),
      schemas: asyncApiHeaders,
    },
    'x-nats-streams': streams.map(streamObject),
    'x-nats-consumers': consumers,
  };
};
