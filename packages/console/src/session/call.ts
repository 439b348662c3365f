import type { Api, ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';

/** A refusal of the service, or a lost answer (`unknown`). */
export class CallError extends Error {
  readonly code: string;
  readonly status: number;
  /** The request may have had an effect: its answer was lost. */
  readonly unknown: boolean;
  /** Every problem of the request, if the service lists them. */
  readonly problems: readonly string[];

  constructor(
    code: string,
    message: string,
    { status = 0, unknown = false, problems = [] as readonly string[] } = {},
  ) {
    super(message);
    this.name = 'CallError';
    this.code = code;
    this.status = status;
    this.unknown = unknown;
    this.problems = problems;
  }
}

export const isExpired = (error: unknown): boolean => error instanceof CallError && error.status === 401;

const ANSWER_WITHIN_MS = 15_000;
/** Base of all requests: the same origin serves the page. */
const API = 'console/api';

type Options = {
  readonly signal?: AbortSignal | undefined;
  /** Requests with the same key count once. */
  readonly key?: string | undefined;
};

export type Caller = {
  readonly ask: <S extends ServiceName, E extends keyof Api[S] & string>(
    service: S,
    endpoint: E,
    request: ApiRequest<S, E>,
    options?: Options,
  ) => Promise<ApiResponse<S, E>>;
  /** For paths outside of the bus API: `dlq/list`, or a path that is read without a body. */
  readonly send: (path: string, body: unknown, options?: Options) => Promise<unknown>;
  readonly read: (path: string, signal?: AbortSignal) => Promise<unknown>;
  /** Sends a body to such a path. */
  readonly post: (path: string, body: unknown, options?: Options) => Promise<unknown>;
  /** A response body that continues, such as events. Throws `CallError` on failure. */
  readonly open: (path: string, signal: AbortSignal) => Promise<Response>;
  /** The service's clock, estimated from its answers. Epoch milliseconds. */
  readonly now: () => number;
};

type Init = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> };

const textOf = async (response: Response): Promise<unknown> => {
  try {
    return (await response.json()) as unknown;
  } catch {
    // A proxy answered in another format; the status is enough.
    return undefined;
  }
};

const problemsIn = (details: unknown): readonly string[] => {
  const { problems } = (typeof details === 'object' && details !== null ? details : {}) as {
    readonly problems?: unknown;
  };
  return Array.isArray(problems) ? problems.filter((each) => typeof each === 'string') : [];
};

const errorOf = async (response: Response): Promise<CallError> => {
  const body = await textOf(response);
  const fields = typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  const code = typeof fields['code'] === 'string' ? fields['code'] : `HTTP_${String(response.status)}`;
  const message =
    typeof fields['message'] === 'string'
      ? fields['message']
      : `the service answered ${String(response.status)}`;
  // A gateway timeout has an unknown outcome too.
  return new CallError(code, message, {
    status: response.status,
    unknown: response.status >= 500,
    problems: problemsIn(fields['details']),
  });
};

/**
 * Calls with one token, or anonymously. A lost answer throws with `unknown`: check the state before you send a change
 * again. `onExpired` is called for every answer that refuses the token.
 */
export const createCaller = (token: string | undefined, onExpired: () => void): Caller => {
  let skew = 0;
  const fetched = async (path: string, init: Init, signal?: AbortSignal): Promise<Response> => {
    let response: Response;
    try {
      response = await fetch(path, {
        ...init,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          accept: 'application/json',
          ...init.headers,
        },
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        ...(signal && { signal }),
      });
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') throw error;
      throw new CallError('CONSOLE_UNREACHABLE', 'Holdpoint cannot be reached', { unknown: true });
    }
    const date = Date.parse(response.headers.get('date') ?? '');
    // The header has whole seconds; half a second corrects the average.
    if (Number.isFinite(date) && Math.abs(date + 500 - Date.now()) > 2_000) skew = date + 500 - Date.now();
    else if (Number.isFinite(date)) skew = 0;
    if (response.ok) return response;
    if (response.status === 401) onExpired();
    throw await errorOf(response);
  };
  const answered = async (path: string, init: Init, signal?: AbortSignal): Promise<unknown> => {
    const late = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const response = await fetched(path, init, signal ? AbortSignal.any([signal, late]) : late);
    try {
      return (await response.json()) as unknown;
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') throw error;
      throw new CallError('CONSOLE_UNREACHABLE', 'incomplete answer', { unknown: true });
    }
  };
  const post: Caller['post'] = (path, body, { signal, key } = {}) =>
    answered(
      path,
      {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) },
      },
      signal,
    );
  const send: Caller['send'] = (path, body, options) => post(`${API}/${path}`, body, options);
  return {
    // Responses follow their contract; unknown fields are ignored.
    ask: async (service, endpoint, request, options) =>
      (await send(`${service}/${endpoint}`, request, options)) as never,
    send,
    post,
    read: (path, signal) => answered(path, {}, signal),
    open: (path, signal) => fetched(path, { headers: { accept: 'text/event-stream' } }, signal),
    now: () => Date.now() + skew,
  };
};
