import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HEADERS, traceOf } from '@holdpoint/contracts/bus/cloudevents';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { orderedUuid, withTimeOf } from '@holdpoint/contracts/values/ids';
import { awaitCommit } from '@holdpoint/runtime/engine/await-commit';
import type { Caller, Endpoint } from '@holdpoint/runtime/bus/api';
import type { Context } from 'hono';
import type { ServiceMessage } from '../../aggregates.ts';
import type { SurfaceDeps } from '../surface-deps.ts';
import type { SourceOf } from './source.ts';

export const API_PATH = '/api/v1';
export type Env = {
  readonly Bindings: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };
};

/** After this the caller has to repeat the request. */
const ANSWER_WITHIN_MS = 15_000;

/** Headers of every private answer. */
export const PRIVATE: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/**
 * The same caller with the same idempotency key repeats a request. Keys of different callers never collide.
 */
const identityOf = (header: Caller['header']): string => {
  const key = header('idempotency-key');
  if (key === undefined) return orderedUuid();
  const parts = [header('authorization') ?? '', key];
  return withTimeOf(key, createHash('sha256').update(JSON.stringify(parts)).digest('hex'));
};

export const callerIn = ({ req, env }: Context<Env>, sourceOf: SourceOf): Caller => {
  const header = (name: string): string | undefined => req.header(name) ?? undefined;
  return { header, identity: identityOf(header), source: sourceOf(env.incoming) };
};

/** Throws `RUNTIME_UNAVAILABLE` after the time limit. */
export const withTimeout = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new HoldpointError('RUNTIME_UNAVAILABLE', 'no answer in time; try again')),
      ANSWER_WITHIN_MS,
    );
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
};

export type AnyEndpoint = Endpoint<ServiceMessage, unknown, unknown>;

/** Calls an endpoint as the bus would. */
export const askEndpoint = async (
  deps: SurfaceDeps,
  endpoint: AnyEndpoint,
  request: unknown,
  caller: Caller,
): Promise<unknown> => {
  if ('query' in endpoint) return endpoint.query(request, caller);
  const routed = await endpoint.command(request, caller);
  return awaitCommit(deps.engine, routed, traceOf(caller.header(HEADERS.trace)));
};
