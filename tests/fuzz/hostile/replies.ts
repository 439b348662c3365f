import type { Reply } from '@holdpoint/contracts/api/reply';
import { headers as createHeaders } from '@nats-io/transport-node';
import fc from 'fast-check';
import { sometimesLinked, validMessage } from '../messages.ts';
import { type Bytes, bytesOf } from '../text.ts';
import { bodyFor } from './body.ts';

/** An answer as it comes over the bus: whoever serves an endpoint may say anything. */
export type ReplyInput = { readonly status: string | undefined; readonly body: Bytes };

const statuses = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  fc.constantFrom('500', '404', '0', '', 'x', '-1', 'é', '9'.repeat(1_000)),
);

const refusals = bodyFor(validMessage('api/error'));

/** What may come for an answer of `service.endpoint`; with a link, mostly about what was asked for. */
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
