import type { KeyObject } from 'node:crypto';
import { hasCode } from '@holdpoint/contracts/values/errors';
import type { WebhookEvent } from '@holdpoint/contracts/webhook/event';
import { type ReceivedWebhook, verifyWebhook } from '@holdpoint/contracts/webhook/signature';
import type { RemoteConnection } from './connection.ts';
import { createTrust } from './trust.ts';

export type WebhookOptions = {
  /** Public keys of approvals in PEM. Without them the first published ones are trusted, then those that they vouch for. */
  readonly publicKeys?: string;
};

/** Keys are asked for at most this often, so that forged webhooks cost no requests. */
const ASK_AT_MOST_EVERY_MS = 60_000;

/**
 * A function that verifies signed webhooks and returns their events. It throws `WEBHOOK_SIGNATURE_INVALID`, and
 * `CONTRACT_INVALID` for an event of a later version. Compare the header `webhook-id` with those that you have handled: a
 * webhook can arrive twice.
 */
export const webhookVerifier = (
  connection: Pick<RemoteConnection, 'keys'>,
  { publicKeys }: WebhookOptions = {},
): ((received: ReceivedWebhook) => Promise<WebhookEvent>) => {
  const trust = createTrust(() => connection.keys(), publicKeys);
  let askedAt = Number.NEGATIVE_INFINITY;

  /** After a rotation the key is new. */
  const keysAgain = async (error: unknown): Promise<readonly KeyObject[]> => {
    const now = performance.now();
    if (!hasCode(error, 'WEBHOOK_SIGNATURE_INVALID') || now - askedAt < ASK_AT_MOST_EVERY_MS) throw error;
    askedAt = now;
    return trust.refresh();
  };

  return async (received) => {
    const keys = await trust.keys();
    try {
      return verifyWebhook(received, keys);
    } catch (error) {
      return verifyWebhook(received, await keysAgain(error));
    }
  };
};
