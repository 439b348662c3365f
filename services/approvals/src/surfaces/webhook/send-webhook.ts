import { canonicalJson } from '@holdpoint/contracts/values/json';
import type { WebhookEvent } from '@holdpoint/contracts/webhook/event';
import { webhookHeaders } from '@holdpoint/contracts/webhook/signature';
import { addressesOf } from '@holdpoint/runtime/http/address';
import { openConnection } from '@holdpoint/runtime/http/connection';
import { exchange } from '@holdpoint/runtime/http/exchange';

/** From the lookup of the name to the end of the answer. */
const TIMEOUT_MS = 10_000;
const GONE = 410;

/** A failed attempt. Its text names neither the URL nor the answer, which may contain secrets. */
export class WebhookFailure extends Error {
  override readonly name = 'WebhookFailure';
  /** The receiver wants no more webhooks. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal = false, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.isFinal = isFinal;
  }
}

export type Webhook = { readonly id: string; readonly url: string; readonly event: WebhookEvent };

export type WebhookSender = {
  readonly sign: (text: Buffer) => Buffer;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly stopping: AbortSignal;
};

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'no connection';

/**
 * Sends a webhook once, to an address that is not link-local. Redirects are not followed. Every answer outside of 200 to 299
 * throws `WebhookFailure`.
 */
export const sendWebhook = async (
  { id, url: text, event }: Webhook,
  { sign, now, stopping }: WebhookSender,
): Promise<void> => {
  const url = new URL(text);
  const body = canonicalJson(event);
  const timestamp = Math.floor(now() / 1_000);
  const request = {
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', ...webhookHeaders({ id, timestamp, body }, sign) },
    body: Buffer.from(body),
  };
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(TIMEOUT_MS)]);
  let status: number;
  try {
    const socket = await openConnection(url, await addressesOf(url, true, signal), signal);
    try {
      ({ status } = await exchange(socket, request, signal));
    } finally {
      socket.destroy();
    }
  } catch (cause) {
    const why = signal.aborted ? 'no answer in time' : codeOf(cause);
    throw new WebhookFailure(`the receiver was not reached: ${why}`, false, cause);
  }
  if (status < 200 || status > 299)
    throw new WebhookFailure(`the receiver answered ${String(status)}`, status === GONE);
};
