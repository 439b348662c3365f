import { createHmac } from 'node:crypto';
import { clean } from '../http/send-request.ts';

const KEY_MIN_BYTES = 24;
const KEY_MAX_BYTES = 64;

/** Decodes a `whsec_` secret. Errors contain no part of the secret. */
const keyOf = (secret: string): Buffer => {
  const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const key = Buffer.from(text ?? '', 'base64');
  if (key.length >= KEY_MIN_BYTES && key.length <= KEY_MAX_BYTES) return key;
  throw clean(
    'EXECUTOR_SECRET_NOT_ALLOWED',
    `The secret is not a webhook key: expected whsec_ and ${String(KEY_MIN_BYTES)}–${String(KEY_MAX_BYTES)} bytes in base64`,
  );
};

export type Signed = {
  readonly id: string;
  /** Epoch seconds. */
  readonly timestamp: number;
  readonly body: string;
};

/**
 * The headers of the Standard Webhooks specification, with one signature for each secret, so that secrets can be
 * rotated.
 */
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
