import { HttpIdempotentRequest, HttpRequest, originOf } from '@holdpoint/contracts/effect/http-request';
import { canonicalJson, type Json, type JsonObject } from '@holdpoint/contracts/values/json';
import type { z } from 'zod';
import type { Answer } from '../../adapters/http/exchange.ts';
import { type Capability, type EffectContext, OutcomeUnknown } from '../../ports/capability.ts';
import { filledHeaders, filledIn } from './filled.ts';
import { assertAllowed, clean, type HttpLimits, type Reach, sendRequest } from './send-request.ts';

/** Exact origins, by what is known of them; whoever runs the executor says it, and not whoever submits a task. */
export type HttpTargets = {
  /** A request is sent there once at the most without a person. */
  readonly targets: ReadonlySet<string>;
  /** They remember an `Idempotency-Key` for longer than a grant lasts. */
  readonly keyedTargets: ReadonlySet<string>;
  /** PUT and DELETE mean the same there however often they are sent. */
  readonly idempotentTargets: ReadonlySet<string>;
  /** Whether `cap.http.request` may reach any public host by https as well. */
  readonly anyPublic: boolean;
};

/** Answers whose contract says that nothing was applied. 409 is not one: it may mean that the same key is in progress. */
const NOT_APPLIED: ReadonlySet<number> = new Set([400, 401, 403, 404, 412, 422]);

const bodyOf = (
  body: Json | undefined,
): { readonly bytes: Buffer; readonly type: Record<string, string> } => {
  if (body === undefined) return { bytes: Buffer.alloc(0), type: {} };
  if (typeof body === 'string')
    return { bytes: Buffer.from(body), type: { 'content-type': 'text/plain; charset=utf-8' } };
  return { bytes: Buffer.from(canonicalJson(body)), type: { 'content-type': 'application/json' } };
};

/** What the store can hold of what a target said: text, and no NUL. */
const textOf = (body: Buffer): string => body.toString('utf8').replaceAll('\0', '\uFFFD');

type Asked = Omit<HttpRequest, 'method'> & { readonly method: string };

const keptOf = (headers: Answer['headers'], names: readonly string[]): JsonObject =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name.toLowerCase()];
      return value === undefined ? [] : [[name.toLowerCase(), String(value)]];
    }),
  );

/** Strict: what proves nothing leaves a doubt. */
const outcomeOf = (
  { status, headers, body, truncated }: Answer,
  { expect, keepHeaders }: Asked,
): JsonObject => {
  if (expect?.includes(status) ?? (status >= 200 && status < 300)) {
    const kept = keepHeaders === undefined ? {} : { headers: keptOf(headers, keepHeaders) };
    return { status, ...kept, body: textOf(body), truncated };
  }
  const said = `the target answered ${String(status)}`;
  if (NOT_APPLIED.has(status)) throw clean('EXECUTOR_TARGET_REFUSED', said, { details: { status } });
  throw new OutcomeUnknown(`${said}, which does not say whether it happened`);
};

type Kind = Reach & {
  readonly input: z.ZodType<Asked>;
  readonly headers: (context: EffectContext) => Readonly<Record<string, string>>;
};

const capability = (
  { input, headers: ours, ...reach }: Kind,
  limits: HttpLimits,
): Capability<z.ZodType<Asked>> => ({
  uses: reach.uses,
  input,
  target: ({ url }) => originOf(url),
  run: async (asked, context) => {
    const { method, url: text, headers = {}, body, redirects = 0 } = asked;
    const url = new URL(text);
    // Whoever may not be sent anything is no reason to look into a secret.
    assertAllowed(url, reach);
    const fill = (held: string): string => context.secrets.fill(held, url.origin);
    const { bytes, type } = bodyOf(body === undefined ? undefined : filledIn(body, fill));
    const { headers: filled, confidential } = filledHeaders(headers, fill);
    const sending = {
      method,
      url,
      headers: { ...type, ...filled, ...ours(context) },
      body: bytes,
      redirects,
      confidential,
    };
    return outcomeOf(await sendRequest(sending, reach, context, limits), asked);
  },
});

/** Who asked, and under which start: for the target's records, and for a target that compares them. */
export const identity = ({ effectId, epoch }: EffectContext): Readonly<Record<string, string>> => ({
  'holdpoint-effect': effectId,
  'holdpoint-epoch': String(epoch),
});

/**
 * One HTTP request, by three labels, because the class of an effect belongs to its capability: what is known of the target
 * is told by whoever runs the executor, not by whoever submits a task. The target of a keyed request sees the same key on
 * every attempt, that of an idempotent one the same request; any other gives nothing to go by, so that a person is asked.
 */
export const httpRequests = (
  { targets, keyedTargets, idempotentTargets, anyPublic }: HttpTargets,
  limits: HttpLimits = {},
): readonly Capability<z.ZodType<Asked>>[] => [
  capability(
    { uses: 'cap.http.request', origins: targets, anyPublic, input: HttpRequest, headers: identity },
    limits,
  ),
  capability(
    {
      uses: 'cap.http.keyed_request',
      origins: keyedTargets,
      input: HttpRequest,
      headers: (context) => ({ 'idempotency-key': context.effectId, ...identity(context) }),
    },
    limits,
  ),
  capability(
    {
      uses: 'cap.http.idempotent_request',
      origins: idempotentTargets,
      input: HttpIdempotentRequest,
      headers: identity,
    },
    limits,
  ),
];
