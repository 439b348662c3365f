import { readFile } from 'node:fs/promises';
import {
  createIdentitySource,
  IDENTITY_HEADER,
  type IdentitySource,
  IssuedIdentity,
  takesIdentity,
} from '@holdpoint/contracts/approval/identity';
import type { DecideApproval } from '@holdpoint/contracts/approval/commands';
import type { DecideMany } from '@holdpoint/contracts/approval/queries';
import { CLAIM_WAIT_MAX_MS } from '@holdpoint/contracts/effect/remote';
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
  readonly askRaw: (
    subject: string,
    body: string | Uint8Array,
    token?: string,
    /** An identity assertion. */
    identity?: string,
  ) => Promise<unknown>;
  readonly token: string;
  /** The token of a second operator, for requests of the first under four eyes. */
  readonly approver: string;
  readonly close: () => Promise<void>;
};

/** Stands for the digest of a request that does not exist. */
const NO_DIGEST = '0'.repeat(64);
const unlessUnknown = (error: unknown): undefined => {
  if (error instanceof Refusal && error.code === 'APPROVALS_UNKNOWN') return undefined;
  throw error;
};

/** Short enough that a wait asks many times, because a frozen replica takes requests and gives no answer. */
const ANSWER_WITHIN_MS = 10_000;
const withinMsOf = (subject: string): number =>
  subject === subjects.api('executor', 'claim') ? CLAIM_WAIT_MAX_MS + ANSWER_WITHIN_MS : ANSWER_WITHIN_MS;

export const connectClient = async (url: string, credentialsDir: string): Promise<Client> => {
  const connection = await connectAs({ url, credentialsDir, user: 'operator' });
  const files = layout(credentialsDir);
  const token = (await readFile(files.operatorToken, 'utf8')).trim();
  const approver = (await readFile(files.approverToken, 'utf8')).trim();

  const askRaw: Client['askRaw'] = async (subject, body, as, identity) => {
    const authorization = headers();
    if (as !== undefined) authorization.set('authorization', `Bearer ${as}`);
    if (identity !== undefined) authorization.set(IDENTITY_HEADER, identity);
    const reply = await connection.request(subject, body, {
      timeout: withinMsOf(subject),
      headers: authorization,
    });
    const status = reply.headers?.get('Nats-Service-Error-Code');
    if (status) throw new Refusal(Number(status), ErrorBody.parse(reply.json()));
    return reply.json();
  };

  const sources = new Map<string, IdentitySource>();
  const sourceOf = (as: string): IdentitySource => {
    const known = sources.get(as);
    if (known !== undefined) return known;
    const source = createIdentitySource(async () =>
      IssuedIdentity.parse(await askRaw(subjects.api('approvals', 'identify'), '{}', as)),
    );
    sources.set(as, source);
    return source;
  };
  /** Without approvals, and with a token that approvals does not know, a command is unverified. */
  const identityOf = (as: string): Promise<string | undefined> =>
    sourceOf(as)
      .withIdentity((assertion) => Promise.resolve(assertion))
      .catch(() => undefined);

  const submitters = new Map<string, Promise<string | undefined>>();
  /** A repeated submission keeps its sender: from another one it would be other content. */
  const senderOf = (endpoint: string, request: unknown, as: string): Promise<string | undefined> => {
    const { id } = request as { readonly id?: unknown };
    if (endpoint !== 'submit' || typeof id !== 'string') return identityOf(as);
    const submission = `${as} ${id}`;
    const sender = submitters.get(submission) ?? identityOf(as);
    submitters.set(submission, sender);
    return sender;
  };

  const digestOf = async (id: unknown): Promise<string> =>
    (await ask('approvals', 'get', { id: String(id) }).catch(unlessUnknown))?.digest ?? NO_DIGEST;
  /** Decides as a person does, who reads the request first. */
  const bound = async (endpoint: string, request: unknown): Promise<unknown> => {
    const decision = request as Partial<DecideApproval & DecideMany>;
    if (endpoint === 'decide' && decision.digest === undefined)
      return { ...decision, digest: await digestOf(decision.id) };
    if (endpoint !== 'decide_many') return request;
    const items = (decision.items ?? []).map(async ({ id, digest }) => ({
      id,
      digest: digest ?? (await digestOf(id)),
    }));
    return { ...decision, items: await Promise.all(items) };
  };

  const ask: Ask = async (service, endpoint, request, as = token) => {
    const identity = takesIdentity(service, endpoint) ? await senderOf(endpoint, request, as) : undefined;
    const answer = await askRaw(
      subjects.api(service, endpoint),
      JSON.stringify(service === 'approvals' ? await bound(endpoint, request) : request),
      as,
      identity,
    );
    const declared: Readonly<Record<string, { response: { parse(value: unknown): unknown } }>> = api[service];
    return declared[endpoint]?.response.parse(answer) as ApiResponse<typeof service, typeof endpoint>;
  };

  return { connection, ask, askRaw, token, approver, close: () => connection.close() };
};
