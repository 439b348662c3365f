import { originOf } from '@holdpoint/contracts/effect/http-request';
import { canonicalJson } from '@holdpoint/contracts/values/json';
import { NotifyWebhook } from '@holdpoint/contracts/effect/notify';
import type { Capability } from '../../ports/capability.ts';
import { assertAllowed } from '../http/send-request.ts';
import { type Notices, sendNotice } from './send-notice.ts';
import { signedHeaders } from './signature.ts';

const USES = 'cap.notify.webhook';

/**
 * Sends an event, signed per the Standard Webhooks specification. Its id is the id of the effect and the same on
 * every attempt, so that receivers can ignore duplicates.
 */
export const notifyWebhook = (
  { targets, limits }: Notices,
  now: () => number,
): Capability<typeof NotifyWebhook> => ({
  uses: USES,
  input: NotifyWebhook,
  target: ({ url }) => originOf(url),
  run: async ({ url: text, secrets, type, timestamp, data }, context) => {
    const url = new URL(text);
    const reach = { uses: USES, origins: targets };
    assertAllowed(url, reach);
    const body = canonicalJson({ type, ...(timestamp !== undefined && { timestamp }), data });
    const signed = { id: context.effectId, timestamp: Math.floor(now() / 1_000), body };
    const keys = secrets.map((secret) => context.secrets.fill(secret, url.origin));
    const headers = signedHeaders(signed, keys);
    return { id: context.effectId, ...(await sendNotice({ url, body, headers }, reach, context, limits)) };
  },
});
