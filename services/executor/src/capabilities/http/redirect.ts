import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Answer, OutgoingRequest } from '../../adapters/http/exchange.ts';
import { CleanFailure } from '../../ports/capability.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const without = (
  headers: OutgoingRequest['headers'],
  names: ReadonlySet<string>,
): OutgoingRequest['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name)));

/**
 * The request that a redirect asks for, if an answer is one. What was meant for one origin alone stays there. Throws
 * `CleanFailure` when it leads to nothing that can be asked: a request that only reads, and was sent elsewhere, did nothing.
 */
export const redirectOf = (
  { status, headers: { location } }: Answer,
  request: OutgoingRequest,
  confidential: ReadonlySet<string>,
): OutgoingRequest | undefined => {
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const url = URL.parse(location, request.url.href);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new CleanFailure(
      errorBody('EXECUTOR_TARGET_REFUSED', 'the target redirects to what is no target', { status }),
    );
  const stays = url.origin === request.url.origin;
  return { ...request, url, headers: stays ? request.headers : without(request.headers, confidential) };
};
