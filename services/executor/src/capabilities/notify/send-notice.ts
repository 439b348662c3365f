import type { JsonObject } from '@holdpoint/contracts/values/json';
import { type EffectContext, OutcomeUnknown } from '../../ports/capability.ts';
import { clean, type HttpLimits, type Reach, sendRequest } from '../http/send-request.ts';

export type Notices = {
  /** Exact origins. */
  readonly targets: ReadonlySet<string>;
  readonly limits?: HttpLimits;
};

/** Rate limits and conflicts: they prove nothing about this request. */
const SAYS_NOTHING: ReadonlySet<number> = new Set([408, 409, 425, 429]);

type Notice = {
  readonly url: URL;
  /** The exact bytes of the body. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * Sends JSON once. A redirect is a failure, as the Standard Webhooks specification demands, and so is every refusal;
 * all other answers leave the outcome unknown. Only the status of the answer is kept, because the body may contain
 * the URL.
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
  throw new OutcomeUnknown(`${said}, which does not prove whether it arrived`);
};
