import { type IncomingHttpHeaders, type IncomingMessage, request as openRequest } from 'node:http';
import type { Socket } from 'node:net';

export type OutgoingRequest = {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

/** The beginning of a response. The rest is read for a limited time, so that the target can finish. */
export type HttpResponse = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly truncated: boolean;
};

const KEPT_MAX_BYTES = 16_384;
const READ_MAX_BYTES = 1_048_576;
const HEADERS_MAX_BYTES = 16_384;

/**
 * Sends one request on its own connection, and reads the response. Nothing is retried, redirected or sent on a
 * reused connection: a client that does so can apply an effect twice without notice.
 */
export const exchange = async (
  socket: Socket,
  { method, url, headers, body }: OutgoingRequest,
  signal: AbortSignal,
): Promise<HttpResponse> => {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = openRequest({
      method,
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, host: url.host, connection: 'close', 'content-length': String(body.length) },
      createConnection: () => socket,
      maxHeaderSize: HEADERS_MAX_BYTES,
      insecureHTTPParser: false,
      signal,
    });
    request.once('response', resolve);
    request.on('error', reject);
    // An upgraded connection ends with neither an error nor a response.
    request.once('close', () => reject(new Error('the connection ended without an answer')));
    request.end(body);
  });
  const { kept, truncated } = await readBounded(response);
  return { status: response.statusCode ?? 0, headers: response.headers, body: kept, truncated };
};

const readBounded = async (
  response: IncomingMessage,
): Promise<{ readonly kept: Buffer; readonly truncated: boolean }> => {
  const chunks: Buffer[] = [];
  let room = KEPT_MAX_BYTES;
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (room > 0) chunks.push(chunk.subarray(0, room));
    room -= Math.min(room, chunk.length);
    if (length > READ_MAX_BYTES) break;
  }
  return { kept: Buffer.concat(chunks), truncated: length > KEPT_MAX_BYTES };
};
