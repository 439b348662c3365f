import { HttpUrl } from '@holdpoint/contracts/effect/http-request';
import type { EffectContext } from '../../ports/capability.ts';
import { assertAllowed, clean, type Reach } from '../http/send-request.ts';

type Asked = { readonly webhook: string; readonly origin: string };

/**
 * The URL of an incoming webhook, which is a secret: whoever has it may write there. It has to lead where the effect was
 * approved for, and is shown nowhere, whatever is wrong with it.
 */
export const webhookUrl = ({ webhook, origin }: Asked, reach: Reach, { secrets }: EffectContext): URL => {
  assertAllowed(new URL(origin), reach);
  const text = secrets.fill(webhook, origin).trim();
  const url = HttpUrl.safeParse(text).success ? new URL(text) : undefined;
  if (url?.origin === origin) return url;
  throw clean('EXECUTOR_SECRET_NOT_ALLOWED', `the secret is no URL of a webhook of ${origin}`);
};
