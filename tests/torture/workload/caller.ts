import { digestShown } from '@holdpoint/contracts/approval/shown-effect';
import type { ApprovalId } from '@holdpoint/contracts/values/ids';
import type { Client } from '@holdpoint/cli/bus/client';
import type { Api, ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { asSent } from '@holdpoint/contracts/values/json';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { History, Operation } from '../history.ts';

export type Outcome<Answer> =
  | { readonly type: 'ok'; readonly answer: Answer }
  | { readonly type: 'fail'; readonly code: string }
  | { readonly type: 'info' };

/** A client that records every call and its outcome in the history. */
export type Caller = <S extends ServiceName, E extends keyof Api[S] & string>(
  actor: string,
  key: string,
  service: S,
  endpoint: E,
  request: ApiRequest<S, E>,
  /** Leaves the call out of the history. */
  options?: { readonly quiet: boolean },
) => Promise<Outcome<ApiResponse<S, E>>>;

/** After these errors the service may have acted. */
const UNKNOWN: ReadonlySet<string> = new Set(['RUNTIME_UNAVAILABLE', 'RUNTIME_POISON']);
const isUnknown = (error: unknown): boolean => !(error instanceof HoldpointError) || UNKNOWN.has(error.code);

/** A value for the history. */
export const historyValue = (value: unknown): Operation['value'] =>
  typeof value === 'object' && value !== null ? (asSent(value) as Operation['value']) : String(value);

let calls = 0;
export const nextCall = (): number => (calls += 1);

/** Sends a call. Throws `HoldpointError` for a refusal, and any other error for an unknown outcome. */
export type Send = <S extends ServiceName, E extends keyof Api[S] & string>(
  service: S,
  endpoint: E,
  request: ApiRequest<S, E>,
) => Promise<ApiResponse<S, E>>;

/** The API with the token of one user. */
export const createCaller = (client: Client, history: History): Caller =>
  createRecorded((service, endpoint, request) => client.call(service, endpoint, request), history);

/** People read a request before they decide: their decision carries its digest. */
const asRead = async <Request>(send: Send, endpoint: string, request: Request): Promise<Request> => {
  const { id, digest } = request as { readonly id?: ApprovalId; readonly digest?: string };
  if (endpoint !== 'decide' || id === undefined || digest !== undefined) return request;
  return { ...request, digest: digestShown(await send('approvals', 'get', { id })) };
};

export const createRecorded =
  (send: Send, history: History): Caller =>
  async (actor, key, service, endpoint, request, { quiet } = { quiet: false }) => {
    const about = { actor, op: `${service}.${endpoint}`, key, call: nextCall() };
    const note = (type: 'invoke' | 'ok' | 'fail' | 'info', value: unknown): void => {
      if (!quiet) history.add({ ...about, type, value: historyValue(value) });
    };
    note('invoke', request);
    try {
      const answer = await send(service, endpoint, await asRead(send, endpoint, request));
      note('ok', answer);
      return { type: 'ok', answer };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (isUnknown(error)) {
        note('info', error instanceof HoldpointError ? { code: error.code, message } : message);
        return { type: 'info' };
      }
      const { code, details } = error as HoldpointError;
      note('fail', { code, message, details });
      return { type: 'fail', code };
    }
  };
