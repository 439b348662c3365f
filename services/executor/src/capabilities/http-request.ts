import type { Socket } from 'node:net';
import { type ErrorBody, type ErrorCode, errorBody } from '@holdpoint/contracts/errors';
import { HttpRequest, originOf } from '@holdpoint/contracts/http-request';
import { canonicalJson, type Json, type JsonObject } from '@holdpoint/contracts/json';
import { openConnection, type Trust } from '../adapters/http-connection.ts';
import { type Answer, exchange, type OutgoingRequest } from '../adapters/http-exchange.ts';
import { type Capability, CleanFailure, type EffectContext, OutcomeUnknown } from './capability.ts';

export type HttpTargets = {
  /** Exact origins that a request may be sent to, each once at the most without a person. */
  readonly targets: ReadonlySet<string>;
  /** Exact origins that remember an `Idempotency-Key` for longer than a grant lasts. */
  readonly keyedTargets: ReadonlySet<string>;
};

export type HttpLimits = Trust & {
  readonly timeoutMs?: number;
  readonly connectTimeoutMs?: number;
};

/** Shorter than the time in which an effect has to begin. */
const CONNECT_TIMEOUT_MS = 2_000;
/** From the first step to the end of the answer; shorter than a lease, so that a stuck target costs one lease at the most. */
const TIMEOUT_MS = 8_000;

/** Answers whose contract says that nothing was applied. 409 is not one: it may mean that the same key is in progress. */
const NOT_APPLIED: ReadonlySet<number> = new Set([400, 401, 403, 404, 412, 422]);

const clean = (
  code: ErrorCode,
  message: string,
  { details, cause }: { readonly details?: ErrorBody['details']; readonly cause?: unknown } = {},
): CleanFailure => new CleanFailure(errorBody(code, message, details), cause);

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'no code';

const bodyOf = (
  body: Json | undefined,
): { readonly bytes: Buffer; readonly type: Record<string, string> } => {
  if (body === undefined) return { bytes: Buffer.alloc(0), type: {} };
  if (typeof body === 'string')
    return { bytes: Buffer.from(body), type: { 'content-type': 'text/plain; charset=utf-8' } };
  return { bytes: Buffer.from(canonicalJson(body)), type: { 'content-type': 'application/json' } };
};

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** What the store can hold of what a target said: text, and no NUL. */
const textOf = (body: Buffer): string => body.toString('utf8').replaceAll('\0', '\uFFFD');

/** Strict: what proves nothing leaves a doubt. */
const outcomeOf = ({ status, body, truncated }: Answer): JsonObject => {
  if (status >= 200 && status < 300) return { status, body: textOf(body), truncated };
  const said = `the target answered ${String(status)}`;
  if (NOT_APPLIED.has(status)) throw clean('EXECUTOR_TARGET_REFUSED', said, { details: { status } });
  throw new OutcomeUnknown(`${said}, which does not say whether it happened`);
};

const connected = async (url: URL, context: EffectContext, limits: HttpLimits): Promise<Socket> => {
  const withinMs = limits.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(withinMs)]);
  try {
    return await openConnection(url, signal, limits);
  } catch (cause) {
    if (context.signal.aborted) throw clean('EXECUTOR_CANCELLED', 'cancelled before it began', { cause });
    const why = signal.aborted ? `not within ${String(withinMs)} ms` : codeOf(cause);
    throw clean('EXECUTOR_TARGET_UNAVAILABLE', `the target cannot be reached: ${why}`, { cause });
  }
};

type Kind = {
  readonly uses: string;
  readonly allowed: ReadonlySet<string>;
  readonly headers: (context: EffectContext) => Readonly<Record<string, string>>;
};

const capability = (
  { uses, allowed, headers: ours }: Kind,
  limits: HttpLimits,
): Capability<typeof HttpRequest> => ({
  uses,
  input: HttpRequest,
  run: async ({ method, url: text, headers = {}, body }, context) => {
    const origin = originOf(text);
    if (!allowed.has(origin))
      throw clean('EXECUTOR_TARGET_NOT_ALLOWED', `${uses} may not reach ${origin} from this executor`);
    const url = new URL(text);
    const { bytes, type } = bodyOf(body);
    const request = {
      method,
      url,
      headers: { ...type, ...lowerCased(headers), ...ours(context) },
      body: bytes,
    };
    const end = AbortSignal.timeout(limits.timeoutMs ?? TIMEOUT_MS);
    const socket = await connected(url, context, limits);
    try {
      if (context.signal.aborted) throw clean('EXECUTOR_CANCELLED', 'cancelled before it was sent');
      // After this line the request may have left, and whatever goes wrong is a doubt.
      context.assertInForce();
      return outcomeOf(await answered(socket, request, context.signal, end));
    } finally {
      socket.destroy();
    }
  },
});

const answered = async (
  socket: Socket,
  request: OutgoingRequest,
  cancelled: AbortSignal,
  end: AbortSignal,
): Promise<Answer> => {
  try {
    return await exchange(socket, request, AbortSignal.any([cancelled, end]));
  } catch (cause) {
    const why = cancelled.aborted ? 'it was cancelled' : end.aborted ? 'the time was up' : codeOf(cause);
    throw new OutcomeUnknown(`sent, and not answered whole: ${why}`, { cause });
  }
};

/** Who asked, and under which start: for the target's records, and for a target that compares them. */
const identity = ({ effectId, epoch }: EffectContext): Readonly<Record<string, string>> => ({
  'holdpoint-effect': effectId,
  'holdpoint-epoch': String(epoch),
});

/**
 * One HTTP request, by two labels, because the class of an effect belongs to its capability: what is known of the target
 * is told by whoever runs the executor, not by whoever submits a task. The target of a keyed request sees the same key on
 * every attempt; any other target gives nothing to go by, so that a person is asked.
 */
export const httpRequests = (
  { targets, keyedTargets }: HttpTargets,
  limits: HttpLimits = {},
): readonly Capability<typeof HttpRequest>[] => [
  capability({ uses: 'cap.http.request', allowed: targets, headers: identity }, limits),
  capability(
    {
      uses: 'cap.http.keyed_request',
      allowed: keyedTargets,
      headers: (context) => ({ 'idempotency-key': context.effectId, ...identity(context) }),
    },
    limits,
  ),
];
