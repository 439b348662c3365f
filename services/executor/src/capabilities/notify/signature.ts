import { createHmac } from 'node:crypto';
import { clean } from '../http/send-request.ts';

const KEY_MIN_BYTES = 24;
const KEY_MAX_BYTES = 64;

/** The key of a `whsec_` secret. What is wrong with it is said, and nothing of what it is. */
const keyOf = (secret: string): Buffer => {
  const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const key = Buffer.from(text ?? '', 'base64');
  if (key.length >= KEY_MIN_BYTES && key.length <= KEY_MAX_BYTES) return key;
  throw clean(
    'EXECUTOR_SECRET_NOT_ALLOWED',
    `a webhook is signed with whsec_ and ${String(KEY_MIN_BYTES)} to ${String(KEY_MAX_BYTES)} bytes in base64, and this secret is none`,
  );
};

export type Signed = {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
};

/** The headers of the Standard Webhooks specification: one signature for each secret, so that one can replace another. */
export const signedHeaders = (
  { id, timestamp, body }: Signed,
  secrets: readonly string[],
): Readonly<Record<string, string>> => ({
  'webhook-id': id,
  'webhook-timestamp': String(timestamp),
  'webhook-signature': secrets
    .map((secret) => {
      const text = `${id}.${String(timestamp)}.${body}`;
      return `v1,${createHmac('sha256', keyOf(secret)).update(text).digest('base64')}`;
    })
    .join(' '),
});
