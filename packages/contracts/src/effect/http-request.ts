import { z } from 'zod';
import { Json } from '../values/json.ts';

const URL_MAX = 2_048;
const HEADERS_MAX = 32;
const HEADER_VALUE_MAX = 2_048;
const STATUSES_MAX = 32;
const REDIRECTS_MAX = 5;

/** Reference to a secret. The executor inserts the secret just before sending. */
const SECRET = /\$\{secret:[A-Za-z0-9_.-]{1,64}\}/;

/** Transport headers, and headers that Holdpoint sets. */
const RESERVED_HEADER =
  /^(connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|idempotency-key|holdpoint-.*)$/i;

/** Credential headers must use secret references: arguments are shown, stored and published. */
const SECRET_HEADER = /^(authorization|cookie)$/i;

export const HttpMethod = z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** The parsed URL; undefined when no request may go there. Blanks are refused, because parsers drop them. */
const parseTarget = (text: string): URL | undefined => {
  if (!/^https?:\/\/[!-[\]-~]+$/.test(text) || text.includes('${')) return undefined;
  const url = URL.parse(text);
  return url !== null && url.username === '' && url.password === '' && url.hash === '' ? url : undefined;
};

/** URLs appear in logs of proxies and targets, so they must not contain secrets. */
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
  .refine((name) => !RESERVED_HEADER.test(name), 'not a header that Holdpoint sets');

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

/** Response headers that are stored with the status. Cookies are credentials and are dropped. */
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
  /** Values may contain `${secret:NAME}`. */
  headers: HttpHeaders.optional(),
  /** Text is sent unchanged, other values as JSON. Texts may contain `${secret:NAME}`. */
  body: Json.optional(),
  /** Statuses that mean success. Default: 200 to 299. */
  expect: z.array(z.int().min(200).max(499)).min(1).max(STATUSES_MAX).optional(),
  keepHeaders: KeptHeaders.optional(),
  /** Maximum redirects of GET and HEAD without body. Default: 0. */
  redirects: z.int().min(0).max(REDIRECTS_MAX).optional(),
};

type Followed = {
  readonly method: string;
  readonly body?: unknown;
  readonly redirects?: number | undefined;
};

/** Other methods never follow redirects: the first server may have applied the change already. */
const mayFollow = ({ method, body, redirects = 0 }: Followed): boolean =>
  redirects === 0 || (/^(GET|HEAD)$/.test(method) && body === undefined);
const NO_REDIRECTS = {
  path: ['redirects'],
  message: 'redirects need GET or HEAD without a body',
};

/** Arguments of `cap.http.request` and `cap.http.keyed_request`: one request, sent as approved. */
export const HttpRequest = z
  .object({ method: HttpMethod.default('POST'), ...parts })
  .refine(mayFollow, NO_REDIRECTS);
export type HttpRequest = z.infer<typeof HttpRequest>;

/** Arguments of `cap.http.idempotent_request`: idempotent methods only. */
export const HttpIdempotentRequest = z
  .object({ method: z.enum(['GET', 'HEAD', 'PUT', 'DELETE']), ...parts })
  .refine(mayFollow, NO_REDIRECTS);
export type HttpIdempotentRequest = z.infer<typeof HttpIdempotentRequest>;

/**
 * Origin: scheme, host and port, as executors allow them. Throws `TypeError` for URLs that `HttpRequest`
 * refuses.
 */
export const originOf = (text: string): string => {
  const url = parseTarget(text);
  if (url === undefined) throw new TypeError('not the URL of a target');
  return url.origin;
};

/** The setting of the executor that lists the origins of a capability. */
export const targetSetting = (uses: string): string => {
  switch (uses) {
    case 'cap.http.keyed_request':
      return 'HOLDPOINT_HTTP_KEYED_TARGETS';
    case 'cap.http.idempotent_request':
      return 'HOLDPOINT_HTTP_IDEMPOTENT_TARGETS';
    case 'cap.http.request':
      return 'HOLDPOINT_HTTP_TARGETS';
    default:
      return 'HOLDPOINT_NOTIFY_TARGETS';
  }
};
