import { type KeyObject, verify } from 'node:crypto';
import { HoldpointError } from '../values/errors.ts';
import { WebhookEvent } from './event.ts';

// The asymmetric signatures of the Standard Webhooks specification: receivers need no secret, only the published keys.

export type SignedWebhook = {
  /** Without a full stop, and never the beginning of a JWS: so no other text of the key can be taken for a webhook. */
  readonly id: string;
  /** Epoch seconds of the attempt. */
  readonly timestamp: number;
  /** The exact text of the body. */
  readonly body: string;
};

const ID = /^[a-z]-[A-Za-z0-9_-]{1,120}$/;

const textOf = ({ id, timestamp, body }: SignedWebhook): Buffer => {
  if (!ID.test(id)) throw new TypeError(`not the id of a webhook: ${id}`);
  return Buffer.from(`${id}.${String(timestamp)}.${body}`);
};

/** The headers of a webhook. `sign` makes an Ed25519 signature. */
export const webhookHeaders = (
  webhook: SignedWebhook,
  sign: (text: Buffer) => Buffer,
): Readonly<Record<string, string>> => ({
  'webhook-id': webhook.id,
  'webhook-timestamp': String(webhook.timestamp),
  'webhook-signature': `v1a,${sign(textOf(webhook)).toString('base64')}`,
});

/** Headers as `fetch` or `node:http` give them. */
export type ReceivedHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export type ReceivedWebhook = {
  readonly headers: ReceivedHeaders;
  /** The body as it arrived, unparsed. */
  readonly body: string | Uint8Array;
};

const headerIn = (headers: ReceivedHeaders, name: string): string | undefined => {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
};

const refused = (why: string): HoldpointError => new HoldpointError('WEBHOOK_SIGNATURE_INVALID', why);

const SIGNATURES_MAX = 10;

const signaturesIn = (header: string): readonly Buffer[] =>
  header
    .split(' ')
    .slice(0, SIGNATURES_MAX)
    .flatMap((each) => (each.startsWith('v1a,') ? [Buffer.from(each.slice(4), 'base64')] : []))
    .filter(({ length }) => length === 64);

/** Difference between the clocks of sender and receiver, in seconds. Older webhooks may be replays. */
export const TOLERANCE_SECONDS = 300;

/**
 * Verifies a webhook, and returns its event. Throws `WEBHOOK_SIGNATURE_INVALID`, or `CONTRACT_INVALID` for an event of a later
 * version. Receivers compare `webhook-id` with those that they have handled: a webhook can arrive twice.
 */
export const verifyWebhook = (
  { headers, body }: ReceivedWebhook,
  keys: readonly KeyObject[],
  { now = Date.now(), toleranceSeconds = TOLERANCE_SECONDS } = {},
): WebhookEvent => {
  const id = headerIn(headers, 'webhook-id') ?? '';
  const sent = headerIn(headers, 'webhook-timestamp') ?? '';
  const signatures = signaturesIn(headerIn(headers, 'webhook-signature') ?? '');
  if (!ID.test(id) || !/^\d{1,12}$/.test(sent) || signatures.length === 0)
    throw refused('no signed webhook: its headers are missing');
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  const signed = textOf({ id, timestamp: Number(sent), body: text });
  if (!signatures.some((signature) => keys.some((key) => verify(null, signed, key, signature))))
    throw refused('no known key has signed this webhook: pass the body as it arrived');
  if (Math.abs(now / 1_000 - Number(sent)) > toleranceSeconds)
    throw refused(`sent at ${sent}: too far from the clock of the receiver`);
  const { success, data } = WebhookEvent.safeParse(JSON.parse(text));
  if (success) return data;
  throw new HoldpointError('CONTRACT_INVALID', 'unknown event or version: update the package');
};
