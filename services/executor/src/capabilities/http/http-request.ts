import { HttpIdempotentRequest, HttpRequest, originOf } from '@holdpoint/contracts/effect/http-request';
import { canonicalJson, type Json, type JsonObject } from '@holdpoint/contracts/values/json';
import type { z } from 'zod';
import type { HttpResponse } from '@holdpoint/runtime/http/exchange';
import { type Capability, type EffectContext, OutcomeUnknown } from '../../ports/capability.ts';
import { fillHeaders, fillBody } from './fill-secrets.ts';
import { assertAllowed, clean, type HttpLimits, type Reach, sendRequest } from './send-request.ts';

/** Allowed origins by class. The operator of the executor sets them, not the submitter of a task. */
export type HttpTargets = {
  /** A request is sent once; after a doubt an operator decides. */
  readonly targets: ReadonlySet<string>;
  /** They remember an `Idempotency-Key` for longer than a grant lasts. */
  readonly keyedTargets: ReadonlySet<string>;
  /** PUT and DELETE can be repeated without another effect. */
  readonly idempotentTargets: ReadonlySet<string>;
  /** Whether `cap.http.request` may reach any public host by https as well. */
  readonly anyPublic: boolean;
};

/** Statuses that mean "not applied". 409 is not among them: the same key may be in progress. */
const NOT_APPLIED: ReadonlySet<number> = new Set([400, 401, 403, 404, 412, 422]);

const bodyOf = (
  body: Json | undefined,
): { readonly bytes: Buffer; readonly type: Record<string, string> } => {
  if (body === undefined) return { bytes: Buffer.alloc(0), type: {} };
  if (typeof body === 'string')
    return { bytes: Buffer.from(body), type: { 'content-type': 'text/plain; charset=utf-8' } };
  return { bytes: Buffer.from(canonicalJson(body)), type: { 'content-type': 'application/json' } };
};

/** Text without NUL, as PostgreSQL requires it. */
const textOf = (body: Buffer): string => body.toString('utf8').replaceAll('\0', '\uFFFD');

type RequestArgs = Omit<HttpRequest, 'method'> & { readonly method: string };

const keptOf = (headers: HttpResponse['headers'], names: readonly string[]): JsonObject =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name.toLowerCase()];
      return value === undefined ? [] : [[name.toLowerCase(), String(value)]];
    }),
  );

/** Strict: an inconclusive status leaves the effect in doubt. */
const outcomeOf = (
  { status, headers, body, truncated }: HttpResponse,
  { expect, keepHeaders }: RequestArgs,
): JsonObject => {
  if (expect?.includes(status) ?? (status >= 200 && status < 300)) {
    const kept = keepHeaders === undefined ? {} : { headers: keptOf(headers, keepHeaders) };
    return { status, ...kept, body: textOf(body), truncated };
  }
  const said = `the target answered ${String(status)}`;
  if (NOT_APPLIED.has(status)) throw clean('EXECUTOR_TARGET_REFUSED', said, { details: { status } });
  throw new OutcomeUnknown(`${said}, which does not prove whether it happened`);
};

type Kind = Reach & {
  readonly input: z.ZodType<RequestArgs>;
  readonly headers: (context: EffectContext) => Readonly<Record<string, string>>;
};

const capability = (
  { input, headers: ours, ...reach }: Kind,
  limits: HttpLimits,
): Capability<z.ZodType<RequestArgs>> => ({
  uses: reach.uses,
  input,
  target: ({ url }) => originOf(url),
  run: async (asked, context) => {
    const { method, url: text, headers = {}, body, redirects = 0 } = asked;
    const url = new URL(text);
    // Checked first: secrets are not resolved for an origin that is not allowed.
    assertAllowed(url, reach);
    const fill = (held: string): string => context.secrets.fill(held, url.origin);
    const { bytes, type } = bodyOf(body === undefined ? undefined : fillBody(body, fill));
    const { headers: filled, confidential } = fillHeaders(headers, fill);
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

/** Identifies the effect and its start, for the target's logs and for fencing. */
export const identity = ({ effectId, epoch }: EffectContext): Readonly<Record<string, string>> => ({
  'holdpoint-effect': effectId,
  'holdpoint-epoch': String(epoch),
});

/**
 * One HTTP request under three labels, because the class of an effect belongs to its capability: the operator knows
 * the target, not the submitter of a task. A keyed target gets the same key on every attempt, an idempotent one the
 * same request. For any other target an operator resolves a doubt.
 */
export const httpRequests = (
  { targets, keyedTargets, idempotentTargets, anyPublic }: HttpTargets,
  limits: HttpLimits = {},
): readonly Capability<z.ZodType<RequestArgs>>[] => [
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
