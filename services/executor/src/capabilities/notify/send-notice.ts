import type { JsonObject } from '@holdpoint/contracts/values/json';
import { type EffectContext, OutcomeUnknown } from '../../ports/capability.ts';
import { clean, type HttpLimits, type Reach, sendRequest } from '../http/send-request.ts';

export type Notices = {
  /** Exact origins. */
  readonly targets: ReadonlySet<string>;
  readonly limits?: HttpLimits;
};

/** Too many at once, or somebody else is at it: it says nothing of this one. */
const SAYS_NOTHING: ReadonlySet<number> = new Set([408, 409, 425, 429]);

type Notice = {
  readonly url: URL;
  /** As it is sent. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * Sends JSON once. A redirect is a failure, as the Standard Webhooks specification has it, and so is every refusal; what may
 * or may not have arrived is told apart from both. Nothing of the answer but its status is kept, because it may hold the URL.
 */
export const sendNotice = async (
  { url, body, headers = {} }: Notice,
  reach: Reach,
  context: EffectContext,
  limits?: HttpLimits,
): Promise<JsonObject> => {
  const sending = {
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(body),
  };
  const { status } = await sendRequest(sending, reach, context, limits);
  if (status >= 200 && status < 300) return { status };
  const said = `the target answered ${String(status)}`;
  if (status >= 300 && status < 500 && !SAYS_NOTHING.has(status))
    throw clean('EXECUTOR_TARGET_REFUSED', said, { details: { status } });
  throw new OutcomeUnknown(`${said}, which does not say whether it arrived`);
};
