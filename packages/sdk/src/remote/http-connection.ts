import { RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import { PublishedKeys } from '@holdpoint/contracts/approval/signing-keys';
import type { HttpMethod } from '@holdpoint/contracts/catalog/http-api';
import { HeldEffect } from '@holdpoint/contracts/effect/hold';
import { BeatAnswer, ClaimAnswer, EndAnswer } from '@holdpoint/contracts/effect/remote';
import { type ErrorBody, type ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { z } from 'zod';
import type { RemoteConnection } from './connection.ts';

export type HttpOptions = {
  /** Address of the console, such as `https://holdpoint.example.com`. */
  readonly url: string;
  /** API token; a claimant needs the scope `effects:claim`. */
  readonly token: string;
  /** For proxies and tests. */
  readonly fetch?: typeof fetch;
};

const ANSWER_MS = 10_000;
const Problem = z.object({
  code: z.string(),
  message: z.string().optional(),
  detail: z.string().optional(),
  title: z.string().optional(),
  details: z.record(z.string(), z.json()).optional(),
});
const Capabilities = z.object({ items: z.array(RegisteredCapability) });

/** Every answer without a code is of a proxy or of a server that starts: it may pass. */
const refusalIn = (status: number, body: unknown): HoldpointError => {
  const { success, data } = Problem.safeParse(body);
  if (!success)
    return status === 401 || status === 403
      ? new HoldpointError('ERR_FORBIDDEN', `the server refuses the token with ${String(status)}`)
      : new HoldpointError('RUNTIME_UNAVAILABLE', `the server answers ${String(status)}`);
  const { code, message, detail, title, details } = data;
  const more: { details?: ErrorBody['details'] } = details === undefined ? {} : { details };
  return new HoldpointError(code as ErrorCode, message ?? detail ?? title ?? code, more);
};

type Sent = {
  readonly body?: object;
  readonly waitMs?: number | undefined;
  readonly idempotencyKey?: string;
};

/** One request below `/api/v1`, whose answer fits the schema. */
export const createRequest = ({ url, token, fetch: send = fetch }: HttpOptions) => {
  const base = `${url.replace(/\/+$/, '')}/api/v1`;
  return async <Answer>(
    method: HttpMethod,
    path: string,
    schema: z.ZodType<Answer>,
    { body, waitMs = 0, idempotencyKey }: Sent = {},
  ): Promise<Answer> => {
    let status: number;
    let text: string;
    try {
      const response = await send(`${base}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/json',
          ...(body && { 'content-type': 'application/json' }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        },
        ...(body && { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(waitMs + ANSWER_MS),
      });
      status = response.status;
      text = await response.text();
    } catch (cause) {
      throw new HoldpointError('RUNTIME_UNAVAILABLE', `no answer from ${url}: check the address`, { cause });
    }
    const answer = jsonIn(text);
    if (status >= 400) throw refusalIn(status, answer);
    const { success, data } = schema.safeParse(answer);
    if (success) return data;
    throw new HoldpointError('CONTRACT_INVALID', `${url}${path} returned an invalid answer`);
  };
};

/** Connects over HTTP alone: no NATS, and nothing that listens, so that it works behind NAT. */
export const connectOverHttp = (options: HttpOptions): RemoteConnection => {
  const request = createRequest(options);
  return {
    claim: (claim) => request('POST', '/claims', ClaimAnswer, { body: claim, waitMs: claim.waitMs }),
    beat: (beat) => request('POST', '/claims/beats', BeatAnswer, { body: beat }),
    end: (end) => request('POST', '/claims/ends', EndAnswer, { body: end }),
    hold: (wanted) => request('POST', '/effects', HeldEffect, { body: wanted }),
    held: (id, { waitMs = 0, not } = {}) => {
      const query = new URLSearchParams({
        ...(waitMs > 0 && { waitMs: String(waitMs) }),
        ...(not && { not }),
      });
      const asked = query.size === 0 ? '' : `?${query.toString()}`;
      return request('GET', `/effects/${id}${asked}`, HeldEffect, { waitMs });
    },
    cancel: (id, reason) =>
      request('POST', `/effects/${id}/cancel`, HeldEffect, { body: reason === undefined ? {} : { reason } }),
    capability: async (name) =>
      (await request('GET', `/capabilities?name=${name}`, Capabilities)).items.find(
        (each) => each.name === name,
      ),
    register: (definition) => request('POST', '/capabilities', RegisteredCapability, { body: definition }),
    keys: () => request('GET', '/keys', PublishedKeys),
  };
};

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // A page of a proxy: the status decides.
    return undefined;
  }
};
