import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ERRORS, HoldpointError } from '@holdpoint/contracts/values/errors';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Client } from '../bus/client.ts';
import { actingAs, type Unproven } from './acting.ts';
import { createMcpServer } from './server.ts';

export const MCP_PATH = '/mcp';

export type HttpSettings = {
  readonly host: string;
  readonly port: number;
  /** Allowed web origins; none if empty. Non-browser clients send no origin. */
  readonly origins: readonly string[];
};

const LOCAL = ['127.0.0.1', 'localhost', '[::1]'] as const;

const refuse = (response: ServerResponse, status: number, code: string, message: string): void => {
  const body = { jsonrpc: '2.0', id: null, error: { code: -32_000, message: `${code}: ${message}` } };
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    })
    .end(JSON.stringify(body));
};

/** Blocks DNS rebinding: a page with a forged host name would send that name. */
const isOurHost = (host: string | undefined, { host: bound }: HttpSettings): boolean => {
  const name = host?.replace(/:\d+$/, '').toLowerCase();
  return name !== undefined && [...LOCAL, bound.toLowerCase()].includes(name);
};

const bearerOf = ({ headers }: IncomingMessage): string | undefined =>
  /^Bearer ([^\s]{1,8192})$/i.exec(headers.authorization ?? '')?.[1];

/** Undefined if the body is too large or invalid. */
const readJson = async (request: IncomingMessage): Promise<{ readonly json: unknown } | 'large' | 'bad'> => {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    size += (piece as Buffer).length;
    // Read the body to its end: the client should receive the reason.
    if (size <= PAYLOAD_MAX_BYTES) pieces.push(piece as Buffer);
  }
  if (size > PAYLOAD_MAX_BYTES) return 'large';
  try {
    return { json: JSON.parse(Buffer.concat(pieces).toString('utf8')) as unknown };
  } catch {
    return 'bad';
  }
};

/** Serves each request with its own token and checks the token each time: a revoked token ends at once. */
const answer = async (
  client: Client,
  agent: string,
  settings: HttpSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const { origin, host } = request.headers;
  if (new URL(request.url ?? '/', 'http://here').pathname !== MCP_PATH)
    return refuse(response, 404, 'MCP_UNKNOWN_PATH', `only ${MCP_PATH} exists`);
  if (!isOurHost(host, settings)) return refuse(response, 403, 'MCP_HOST_REFUSED', 'host not allowed');
  if (origin !== undefined && !settings.origins.includes(origin))
    return refuse(response, 403, 'MCP_ORIGIN_REFUSED', 'origin not allowed');
  const token = bearerOf(request);
  const caller = token === undefined ? undefined : client.as?.(token);
  if (caller === undefined)
    return refuse(
      response,
      401,
      'APPROVALS_UNAUTHENTICATED',
      'a valid token is required: Authorization: Bearer',
    );
  const unproven: Unproven = { agent, owner: 'unknown' };
  const acting = await actingAs(caller, unproven);
  // Without sessions there are no streams outside a response, and nothing to close.
  if (request.method !== 'POST') return refuse(response, 405, 'MCP_METHOD', 'only POST is allowed');
  const body = await readJson(request);
  if (body === 'large') return refuse(response, 413, 'CONTRACT_PAYLOAD_TOO_LARGE', 'the body is too large');
  if (body === 'bad') return refuse(response, 400, 'CONTRACT_NOT_JSON', 'the body is not JSON');
  const server = createMcpServer(caller, acting);
  const transport = new StreamableHTTPServerTransport({});
  response.once('close', () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, body.json);
  return undefined;
};

const refuseWith = (response: ServerResponse, error: unknown): void => {
  if (response.headersSent) return void response.destroy();
  if (error instanceof HoldpointError) refuse(response, ERRORS[error.code] ?? 500, error.code, error.message);
  else refuse(response, 500, 'MCP_FAILED', 'internal error');
};

export type Serving = { readonly url: string; readonly stop: () => Promise<void> };

/** Serves agents over Streamable HTTP, each with its own token. */
export const serveHttp = async (client: Client, agent: string, settings: HttpSettings): Promise<Serving> => {
  const server: Server = createServer((request, response) => {
    answer(client, agent, settings, request, response).catch((error: unknown) => refuseWith(response, error));
  });
  server.headersTimeout = 5_000;
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(settings.port, settings.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return {
    url: `http://${host}:${String(port)}${MCP_PATH}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
