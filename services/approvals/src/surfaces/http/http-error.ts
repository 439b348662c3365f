import { STATUS_CODES } from 'node:http';
import {
  type ErrorBody,
  ErrorCode,
  ERRORS,
  HoldpointError,
  toErrorBody,
} from '@holdpoint/contracts/values/errors';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { isAway } from '@holdpoint/runtime/store/errors';

export type HttpError = {
  readonly status: number;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
};

/** Headers that tell a client how to continue. */
const hints: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': 'Bearer realm="holdpoint"' },
  413: { connection: 'close' },
  429: { 'retry-after': '1' },
  503: { 'retry-after': '1' },
};

/** The answer to an error. Details of unexpected errors go only into the log. */
export const httpErrorOf = (error: unknown, log: Logger): HttpError => {
  const known = error instanceof HoldpointError;
  if (!known) log.error(errorFields(error), 'request failed');
  else if (error.code === 'RUNTIME_POISON')
    log.error(errorFields(error.cause), 'request could not be decided');
  const body =
    !known && isAway(error)
      ? toErrorBody(new HoldpointError('RUNTIME_UNAVAILABLE', 'the store does not answer; try again'))
      : toErrorBody(error);
  const code = ErrorCode.safeParse(body.code);
  const status = code.success ? ERRORS[code.data] : 500;
  const { retryAfterSeconds } = body.details ?? {};
  return {
    status,
    body,
    headers: {
      ...hints[status],
      ...(typeof retryAfterSeconds === 'number' && { 'retry-after': String(retryAfterSeconds) }),
    },
  };
};

/** An error by RFC 9457. `code` and `message` are those of the bus. */
export type Problem = ErrorBody & {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
};

/** The answer of the HTTP API to an error. */
export const problemOf = (error: unknown, log: Logger): HttpError & { readonly body: Problem } => {
  const { status, body, headers } = httpErrorOf(error, log);
  const { code, message } = body;
  const title = STATUS_CODES[status] ?? 'Error';
  return {
    status,
    headers,
    body: { type: `urn:holdpoint:error:${code}`, title, status, detail: message, ...body },
  };
};
