/** The subjects of the JetStream API that this project uses, exactly: `$JS.>` would be the whole administration. */

/** What the server reports of its own accord. */
export const ADVISORIES = '$JS.EVENT.ADVISORY.>';

/** Requests that get several messages as their answer. */
export const hasManyAnswers = (subject: string): boolean =>
  /^\$JS\.API\.(CONSUMER\.MSG\.NEXT|DIRECT\.GET)\.|^\$SRV\./.test(subject);

type Named = { readonly name: string; readonly stream: string };

export const streamInfo = (stream: string) => `$JS.API.STREAM.INFO.${stream}`;

export const writeStream = (stream: string) =>
  [`$JS.API.STREAM.CREATE.${stream}`, `$JS.API.STREAM.UPDATE.${stream}`] as const;

/** How far behind each reader of a stream is. */
export const listConsumers = (stream: string) => `$JS.API.CONSUMER.LIST.${stream}`;

/** One message by its number, or the next of a subject: no consumer, and nothing that lasts. */
export const getDirect = (stream: string) => `$JS.API.DIRECT.GET.${stream}`;

export const consumerInfo = ({ stream, name }: Named) => `$JS.API.CONSUMER.INFO.${stream}.${name}`;

export const fetchFrom = ({ stream, name }: Named) => `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`;

/** Create or update. The filter stands in the subject, so it cannot be widened. */
export const createConsumer = ({ stream, name, filter }: Named & { readonly filter: string }) =>
  `$JS.API.CONSUMER.CREATE.${stream}.${name}.${filter}`;

export const deleteConsumer = ({ stream, name }: Named) => `$JS.API.CONSUMER.DELETE.${stream}.${name}`;

/**
 * Both forms of an acknowledgement, ADR-15. The second has domain (`_` for none) and account hash in front; servers know
 * it from 2.14 on, under the flag `js_ack_fc_v2`, and use it by default from 2.16 on. The numbers of tokens are
 * spelled out: with `>` one form could pass for the other with chosen stream and consumer names.
 */
export const acknowledge = ({ stream, name }: Named) =>
  [`$JS.ACK.${stream}.${name}.*.*.*.*.*`, `$JS.ACK._.*.${stream}.${name}.*.*.*.*.*`] as const;

/** Single messages and batches: `nats stream get`, and the direct reads of client libraries. No consumers. */
export const readMessages = (stream: string) => [
  `$JS.API.STREAM.MSG.GET.${stream}`,
  getDirect(stream),
  `${getDirect(stream)}.>`,
];
