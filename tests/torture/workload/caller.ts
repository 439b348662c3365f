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

/** Somebody outside, whose every call is in the history with what came of it. */
export type Caller = <S extends ServiceName, E extends keyof Api[S] & string>(
  actor: string,
  key: string,
  service: S,
  endpoint: E,
  request: ApiRequest<S, E>,
  /** Quiet: not worth a line of the history. */
  options?: { readonly quiet: boolean },
) => Promise<Outcome<ApiResponse<S, E>>>;

/** A service that cannot answer now may have acted all the same. So may one whose answer says nothing of the question. */
const UNKNOWN: ReadonlySet<string> = new Set(['RUNTIME_UNAVAILABLE', 'RUNTIME_POISON']);
const isUnknown = (error: unknown): boolean => !(error instanceof HoldpointError) || UNKNOWN.has(error.code);

/** As it goes into the history. */
export const told = (value: unknown): Operation['value'] =>
  typeof value === 'object' && value !== null ? (asSent(value) as Operation['value']) : String(value);

let calls = 0;
export const nextCall = (): number => (calls += 1);

/** How a call leaves; throws `HoldpointError` when it was refused, and anything else when nobody knows. */
export type Send = <S extends ServiceName, E extends keyof Api[S] & string>(
  service: S,
  endpoint: E,
  request: ApiRequest<S, E>,
) => Promise<ApiResponse<S, E>>;

/** The API as one person has it. */
export const createCaller = (client: Client, history: History): Caller =>
  createRecorded((service, endpoint, request) => client.call(service, endpoint, request), history);

/** The same, whatever way the calls take. */
export const createRecorded =
  (send: Send, history: History): Caller =>
  async (actor, key, service, endpoint, request, { quiet } = { quiet: false }) => {
    const about = { actor, op: `${service}.${endpoint}`, key, call: nextCall() };
    const note = (type: 'invoke' | 'ok' | 'fail' | 'info', value: unknown): void => {
      if (!quiet) history.add({ ...about, type, value: told(value) });
    };
    note('invoke', request);
    try {
      const answer = await send(service, endpoint, request);
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
