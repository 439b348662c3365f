import type { Socket } from 'node:net';
import { targetSetting } from '@holdpoint/contracts/effect/http-request';
import { type ErrorBody, type ErrorCode, errorBody } from '@holdpoint/contracts/values/errors';
import { AddressRefused, addressesOf, type Resolve } from '@holdpoint/runtime/http/address';
import { openConnection, type Trust } from '@holdpoint/runtime/http/connection';
import { type HttpResponse, exchange, type OutgoingRequest } from '@holdpoint/runtime/http/exchange';
import { CleanFailure, type EffectContext, OutcomeUnknown } from '../../ports/capability.ts';

export type HttpLimits = Trust & {
  readonly timeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** Left out: the resolver of the operating system. */
  readonly resolve?: Resolve;
};

/** The origins that a capability may reach. */
export type Reach = {
  readonly uses: string;
  /** Exact origins. */
  readonly origins: ReadonlySet<string>;
  /** Whether other origins are allowed too: https on port 443 at public addresses. */
  readonly anyPublic?: boolean;
};

export type Sending = OutgoingRequest & {
  /** Maximum redirects to follow. */
  readonly redirects?: number;
  /** Headers for the first origin only, in lower case. */
  readonly confidential?: ReadonlySet<string>;
};

/** Shorter than `beginBeforeMs` of the default timing. */
const CONNECT_TIMEOUT_MS = 2_000;
/** From the first step to the end of the response; shorter than the default lease. */
const TIMEOUT_MS = 8_000;

export const clean = (
  code: ErrorCode,
  message: string,
  { details, cause }: { readonly details?: ErrorBody['details']; readonly cause?: unknown } = {},
): CleanFailure => new CleanFailure(errorBody(code, message, details), cause);

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'no code';

/** Throws `CleanFailure` when the origin is not allowed. Returns whether it is listed. */
export const assertAllowed = (
  { origin, protocol, port }: URL,
  { uses, origins, anyPublic }: Reach,
): boolean => {
  if (origins.has(origin)) return true;
  if (anyPublic === true && protocol === 'https:' && port === '') return false;
  throw clean(
    'EXECUTOR_TARGET_NOT_ALLOWED',
    `${uses} may not reach ${origin}: add it to ${targetSetting(uses)}`,
  );
};

const connected = async (
  url: URL,
  isListed: boolean,
  context: EffectContext,
  limits: HttpLimits,
): Promise<Socket> => {
  const withinMs = limits.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(withinMs)]);
  try {
    const addresses = await addressesOf(url, isListed, signal, limits.resolve);
    return await openConnection(url, addresses, signal, limits);
  } catch (cause) {
    if (cause instanceof AddressRefused) throw clean('EXECUTOR_TARGET_NOT_ALLOWED', cause.message);
    if (context.signal.aborted) throw clean('EXECUTOR_CANCELLED', 'cancelled before it began', { cause });
    const why = signal.aborted ? `timed out after ${String(withinMs)} ms` : codeOf(cause);
    throw clean('EXECUTOR_TARGET_UNAVAILABLE', `Cannot reach the target: ${why}`, { cause });
  }
};

const answered = async (
  socket: Socket,
  request: OutgoingRequest,
  cancelled: AbortSignal,
  end: AbortSignal,
): Promise<HttpResponse> => {
  try {
    return await exchange(socket, request, AbortSignal.any([cancelled, end]));
  } catch (cause) {
    const why = cancelled.aborted ? 'it was cancelled' : end.aborted ? 'timed out' : codeOf(cause);
    throw new OutcomeUnknown(`sent, but no complete response: ${why}`, { cause });
  }
};

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const without = (
  headers: OutgoingRequest['headers'],
  names: ReadonlySet<string>,
): OutgoingRequest['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name)));

/**
 * The request of a redirect, if the response is one. Confidential headers stay with their origin. Throws
 * `CleanFailure` for an invalid location: a redirected read did nothing.
 */
export const redirectOf = (
  { status, headers: { location } }: HttpResponse,
  request: OutgoingRequest,
  confidential: ReadonlySet<string>,
): OutgoingRequest | undefined => {
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const url = URL.parse(location, request.url.href);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new CleanFailure(
      errorBody('EXECUTOR_TARGET_REFUSED', 'Redirect to an origin that is not allowed', { status }),
    );
  const stays = url.origin === request.url.origin;
  return { ...request, url, headers: stays ? request.headers : without(request.headers, confidential) };
};

/**
 * Sends a request and follows its redirects, each to an allowed origin only. Throws `CleanFailure` while nothing has
 * left, and `OutcomeUnknown` once it has and no complete response arrived.
 */
export const sendRequest = async (
  { redirects = 0, confidential = new Set(), ...first }: Sending,
  reach: Reach,
  context: EffectContext,
  limits: HttpLimits = {},
): Promise<HttpResponse> => {
  const end = AbortSignal.timeout(limits.timeoutMs ?? TIMEOUT_MS);
  let request: OutgoingRequest = first;
  for (let left = redirects; ; left -= 1) {
    const socket = await connected(request.url, assertAllowed(request.url, reach), context, limits);
    try {
      if (context.signal.aborted) throw clean('EXECUTOR_CANCELLED', 'cancelled before it was sent');
      // From here on the request may have left, and failures are doubts.
      context.assertInForce();
      const answer = await answered(socket, request, context.signal, end);
      const next = left > 0 ? redirectOf(answer, request, confidential) : undefined;
      if (next === undefined) return answer;
      request = next;
    } finally {
      socket.destroy();
    }
  }
};
