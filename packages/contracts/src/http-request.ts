import { z } from 'zod';
import { Json } from './json.ts';

const URL_MAX = 2_048;
const HEADERS_MAX = 32;
const HEADER_VALUE_MAX = 2_048;

/**
 * What carries the request, what Holdpoint says in it, and what gives credentials: arguments are shown to people, kept
 * for ever and published as facts, so no secret may stand in them.
 */
const RESERVED_HEADER =
  /^(connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|idempotency-key|holdpoint-.*|authorization|cookie)$/i;

const HttpMethod = z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** Where a URL leads; undefined when it is none that a request may be sent to. What is shown is what is parsed: no blanks. */
const parseTarget = (text: string): URL | undefined => {
  const url = /^https?:\/\/[!-[\]-~]+$/.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === '' && url.password === '' && url.hash === '' ? url : undefined;
};

const HttpUrl = z
  .string()
  .max(URL_MAX)
  .refine(
    (text) => parseTarget(text) !== undefined,
    'an http or https URL without credentials and without a fragment',
  );

const HttpHeaders = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'a header name')
      .refine(
        (name) => !RESERVED_HEADER.test(name),
        'not a header that is set by Holdpoint, or that holds a secret',
      ),
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
  );

/** The arguments of `cap.http.request` and `cap.http.keyed_request`: one request, as it is approved and as it is sent. */
export const HttpRequest = z.object({
  method: HttpMethod.default('POST'),
  url: HttpUrl,
  headers: HttpHeaders.optional(),
  /** Text is sent as it is, anything else as JSON. */
  body: Json.optional(),
});
export type HttpRequest = z.infer<typeof HttpRequest>;

/** Scheme, host and port: what an executor allows or does not. Throws `TypeError` on what `HttpRequest` does not accept. */
export const originOf = (text: string): string => {
  const url = parseTarget(text);
  if (url === undefined) throw new TypeError('not the URL of a target');
  return url.origin;
};
