import { readFile } from 'node:fs/promises';
import { api, type Api, type ApiRequest, type ApiResponse } from '@holdpoint/contracts/catalog/api';
import { ErrorBody } from '@holdpoint/contracts/values/errors';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { layout } from '@holdpoint/infra/credentials/layout';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { headers, type NatsConnection } from '@nats-io/transport-node';

/** A refused request. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: string;
  readonly status: number;
  readonly body: ErrorBody;

  constructor(status: number, body: ErrorBody) {
    super(`${body.code}: ${body.message}`);
    this.code = body.code;
    this.status = status;
    this.body = body;
  }
}

export type Ask = <S extends ServiceName, E extends keyof Api[S] & string>(
  service: S,
  endpoint: E,
  request: ApiRequest<S, E>,
  /** The token of the request; that of the operator if omitted. */
  as?: string,
) => Promise<ApiResponse<S, E>>;

/** The public API for its users. */
export type Client = {
  readonly connection: NatsConnection;
  /** Throws `Refusal`. */
  readonly ask: Ask;
  /** Sends any body on any subject of the API, with or without a token. Throws `Refusal`. */
  readonly askRaw: (subject: string, body: string | Uint8Array, token?: string) => Promise<unknown>;
  readonly token: string;
  readonly close: () => Promise<void>;
};

const ANSWER_WITHIN_MS = 5_000;

export const connectClient = async (url: string, credentialsDir: string): Promise<Client> => {
  const connection = await connectAs({ url, credentialsDir, user: 'operator' });
  const token = (await readFile(layout(credentialsDir).operatorToken, 'utf8')).trim();

  const askRaw: Client['askRaw'] = async (subject, body, as) => {
    const authorization = headers();
    if (as !== undefined) authorization.set('authorization', `Bearer ${as}`);
    const reply = await connection.request(subject, body, {
      timeout: ANSWER_WITHIN_MS,
      headers: authorization,
    });
    const status = reply.headers?.get('Nats-Service-Error-Code');
    if (status) throw new Refusal(Number(status), ErrorBody.parse(reply.json()));
    return reply.json();
  };

  const ask: Ask = async (service, endpoint, request, as = token) => {
    const answer = await askRaw(subjects.api(service, endpoint), JSON.stringify(request), as);
    const declared: Readonly<Record<string, { response: { parse(value: unknown): unknown } }>> = api[service];
    return declared[endpoint]?.response.parse(answer) as ApiResponse<typeof service, typeof endpoint>;
  };

  return { connection, ask, askRaw, token, close: () => connection.close() };
};
