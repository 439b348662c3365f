import { HttpUrl } from '@holdpoint/contracts/effect/http-request';
import type { EffectContext } from '../../ports/capability.ts';
import { assertAllowed, clean, type Reach } from '../http/send-request.ts';

type WebhookTarget = { readonly webhook: string; readonly origin: string };

/**
 * The URL of an incoming webhook. It is a secret: everyone who has it can post. It must lead to the approved origin,
 * and no error shows it.
 */
export const webhookUrl = (
  { webhook, origin }: WebhookTarget,
  reach: Reach,
  { secrets }: EffectContext,
): URL => {
  assertAllowed(new URL(origin), reach);
  const text = secrets.fill(webhook, origin).trim();
  const url = HttpUrl.safeParse(text).success ? new URL(text) : undefined;
  if (url?.origin === origin) return url;
  throw clean('EXECUTOR_SECRET_NOT_ALLOWED', `The secret is not a webhook URL of ${origin}`);
};
