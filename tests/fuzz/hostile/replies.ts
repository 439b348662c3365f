import type { Reply } from '@holdpoint/contracts/catalog/reply';
import { headers as createHeaders } from '@nats-io/transport-node';
import fc from 'fast-check';
import { sometimesLinked, validMessage } from '../messages.ts';
import { type Bytes, bytesOf } from '../text.ts';
import { bodyFor } from './body.ts';

/** An answer from the bus with any content. */
export type ReplyInput = { readonly status: string | undefined; readonly body: Bytes };

const statuses = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  fc.constantFrom('500', '404', '0', '', 'x', '-1', 'é', '9'.repeat(1_000)),
);

const refusals = bodyFor(validMessage('api/error'));

/** Answers of `service.endpoint`. With a link, mostly about the requested object. */
export const replyTo = (
  endpoint: string,
  link: (value: object) => object = (value) => value,
): fc.Arbitrary<ReplyInput> =>
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        status: statuses,
        body: bodyFor(sometimesLinked(validMessage(`api/${endpoint}.response`), link)),
      }),
    },
    { weight: 1, arbitrary: fc.record({ status: statuses, body: refusals }) },
  );

export const replyOf = ({ status, body }: ReplyInput): Reply => {
  const headers = createHeaders();
  if (status !== undefined) headers.set('Nats-Service-Error-Code', status);
  return { headers, json: <T>() => JSON.parse(new TextDecoder().decode(bytesOf(body))) as T };
};
