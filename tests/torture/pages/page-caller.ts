import { ErrorBody, ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { History } from '../history.ts';
import type { Random } from '../random.ts';
import { type Caller, createRecorded, type Send } from '../workload/caller.ts';

/** The patience of a user. */
const ANSWER_WITHIN_MS = 15_000;

/** A page with its address and its user. */
export type Page = {
  readonly consoles: readonly string[];
  readonly name: string;
  readonly token: string;
  readonly random: Random;
};

/** Sends a request to a random console process, like a load balancer. */
export const postAsPage = async (
  { consoles, token, random }: Page,
  path: string,
  body: object,
): Promise<unknown> => {
  const response = await fetch(`${random.pick(consoles)}/console/api/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  const answer: unknown = await response.json();
  if (response.ok) return answer;
  const refused = ErrorBody.parse(answer);
  throw new HoldpointError(
    ErrorCode.parse(refused.code),
    refused.message,
    refused.details && { details: refused.details },
  );
};

/** The API through the HTTP gateway of the console. */
export const createPageCaller = (page: Page, history: History): Caller => {
  const send: Send = async (service, endpoint, request) =>
    (await postAsPage(page, `${service}/${endpoint}`, request as object)) as never;
  return createRecorded(send, history);
};
