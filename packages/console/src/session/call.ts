import type { Api, ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';

/** What the service refused, or that nobody knows what it did (`unknown`). */
export class CallError extends Error {
  readonly code: string;
  readonly status: number;
  /** The request may have been carried out, or not: the answer was lost. */
  readonly unknown: boolean;
  /** Each thing that is wrong with what was asked, where the service has said them one by one. */
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
/** The base of everything that is asked: the page is served by the same origin. */
const API = 'console/api';

type Options = {
  readonly signal?: AbortSignal | undefined;
  /** A command that comes twice with the same key counts once. */
  readonly key?: string | undefined;
};

export type Caller = {
  readonly ask: <S extends ServiceName, E extends keyof Api[S] & string>(
    service: S,
    endpoint: E,
    request: ApiRequest<S, E>,
    options?: Options,
  ) => Promise<ApiResponse<S, E>>;
  /** The same for what is no endpoint of the bus: `dlq/list`, or a path that is read when there is no body. */
  readonly send: (path: string, body: unknown, options?: Options) => Promise<unknown>;
  readonly read: (path: string, signal?: AbortSignal) => Promise<unknown>;
  /** A body that is sent to a path of its own. */
  readonly post: (path: string, body: unknown, options?: Options) => Promise<unknown>;
  /** A body that goes on, such as events. Throws `CallError` unless it is there. */
  readonly open: (path: string, signal: AbortSignal) => Promise<Response>;
  /** Epoch milliseconds by the clock of the service, as far as its answers tell. */
  readonly now: () => number;
};

type Init = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> };

const textOf = async (response: Response): Promise<unknown> => {
  try {
    return (await response.json()) as unknown;
  } catch {
    // Whatever stood in between has answered in its own words; the status says enough.
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
  const said = typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  const code = typeof said['code'] === 'string' ? said['code'] : `HTTP_${String(response.status)}`;
  const message =
    typeof said['message'] === 'string' ? said['message'] : `the service answered ${String(response.status)}`;
  // A gateway that gave up waiting does not know either.
  return new CallError(code, message, {
    status: response.status,
    unknown: response.status >= 500,
    problems: problemsIn(said['details']),
  });
};

/**
 * Calls with one token, or as nobody. A call that got no answer throws with `unknown`: whoever changes something looks before sending it again.
 * `onExpired` hears of every answer that the token is not good any more.
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
    // Whole seconds; half of one is what it is off by on the average.
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
      throw new CallError('CONSOLE_UNREACHABLE', 'the answer was cut off', { unknown: true });
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
    // What the service says is what its contract has; what a newer one adds is not looked at.
    ask: async (service, endpoint, request, options) =>
      (await send(`${service}/${endpoint}`, request, options)) as never,
    send,
    post,
    read: (path, signal) => answered(path, {}, signal),
    open: (path, signal) => fetched(path, { headers: { accept: 'text/event-stream' } }, signal),
    now: () => Date.now() + skew,
  };
};
