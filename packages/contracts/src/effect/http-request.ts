import { z } from 'zod';
import { Json } from '../values/json.ts';

const URL_MAX = 2_048;
const HEADERS_MAX = 32;
const HEADER_VALUE_MAX = 2_048;
const STATUSES_MAX = 32;
const REDIRECTS_MAX = 5;

/** Names a secret, which the executor fills in right before the request leaves. */
const SECRET = /\$\{secret:[A-Za-z0-9_.-]{1,64}\}/;

/** What carries the request, and what Holdpoint says in it. */
const RESERVED_HEADER =
  /^(connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|idempotency-key|holdpoint-.*)$/i;

/** What gives credentials: arguments are shown to people, kept for ever and published as facts, so these name a secret. */
const SECRET_HEADER = /^(authorization|cookie)$/i;

export const HttpMethod = z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** Where a URL leads; undefined when it is none that a request may be sent to. What is shown is what is parsed: no blanks. */
const parseTarget = (text: string): URL | undefined => {
  if (!/^https?:\/\/[!-[\]-~]+$/.test(text) || text.includes('${')) return undefined;
  const url = URL.parse(text);
  return url !== null && url.username === '' && url.password === '' && url.hash === '' ? url : undefined;
};

/** What is sent is seen by every proxy and log of the target as well, so that no secret is filled into it. */
export const HttpUrl = z
  .string()
  .max(URL_MAX)
  .refine(
    (text) => parseTarget(text) !== undefined,
    'an http or https URL without credentials, without a secret and without a fragment',
  );

const HeaderName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'a header name')
  .refine((name) => !RESERVED_HEADER.test(name), 'not a header that is set by Holdpoint');

const HttpHeaders = z
  .record(
    HeaderName,
    z
      .string()
      .max(HEADER_VALUE_MAX)
      .regex(/^[\t -~]*$/, 'printable ASCII'),
  )
  .refine((headers) => Object.keys(headers).length <= HEADERS_MAX, `at most ${String(HEADERS_MAX)} headers`)
  .refine(
    (headers) =>
      new Set(Object.keys(headers).map((name) => name.toLowerCase())).size === Object.keys(headers).length,
    'each header once',
  )
  .refine(
    (headers) =>
      Object.entries(headers).every(([name, value]) => !SECRET_HEADER.test(name) || SECRET.test(value)),
    'credentials as ${secret:NAME}, not in the clear',
  );

/** Headers of an answer that are kept with its status. Cookies are credentials, and are not. */
const KeptHeaders = z
  .array(
    z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'a header name')
      .refine((name) => !/^set-cookie2?$/i.test(name), 'not a cookie'),
  )
  .max(HEADERS_MAX);

const parts = {
  url: HttpUrl,
  /** A value may hold `${secret:NAME}`. */
  headers: HttpHeaders.optional(),
  /** Text is sent as it is, anything else as JSON. Every text in it may hold `${secret:NAME}`. */
  body: Json.optional(),
  /** The statuses that say that it was applied. When left out, 200 to 299. */
  expect: z.array(z.int().min(200).max(499)).min(1).max(STATUSES_MAX).optional(),
  keepHeaders: KeptHeaders.optional(),
  /** How many redirects are followed, for GET and HEAD without a body. When left out, none. */
  redirects: z.int().min(0).max(REDIRECTS_MAX).optional(),
};

type Followed = {
  readonly method: string;
  readonly body?: unknown;
  readonly redirects?: number | undefined;
};

/** A redirect is no answer to what changes something: whoever sent it may have done it, and it would be done again. */
const mayFollow = ({ method, body, redirects = 0 }: Followed): boolean =>
  redirects === 0 || (/^(GET|HEAD)$/.test(method) && body === undefined);
const NO_REDIRECTS = {
  path: ['redirects'],
  message: 'redirects are followed for GET and HEAD without a body only',
};

/** The arguments of `cap.http.request` and `cap.http.keyed_request`: one request, as it is approved and as it is sent. */
export const HttpRequest = z
  .object({ method: HttpMethod.default('POST'), ...parts })
  .refine(mayFollow, NO_REDIRECTS);
export type HttpRequest = z.infer<typeof HttpRequest>;

/** The arguments of `cap.http.idempotent_request`: only methods that mean the same however often they are sent. */
export const HttpIdempotentRequest = z
  .object({ method: z.enum(['GET', 'HEAD', 'PUT', 'DELETE']), ...parts })
  .refine(mayFollow, NO_REDIRECTS);
export type HttpIdempotentRequest = z.infer<typeof HttpIdempotentRequest>;

/** Scheme, host and port: what an executor allows or does not. Throws `TypeError` on what `HttpRequest` does not accept. */
export const originOf = (text: string): string => {
  const url = parseTarget(text);
  if (url === undefined) throw new TypeError('not the URL of a target');
  return url.origin;
};
