import { createHash, randomBytes } from 'node:crypto';
import { needsToken } from '@holdpoint/cli/bus/headers';
import { Scope } from '@holdpoint/contracts/approval/access-token';
import { IDENTITY_HEADER, IssuedIdentity, takesIdentity } from '@holdpoint/contracts/approval/identity';
import { ENDPOINT_SCOPES, type Needed } from '@holdpoint/contracts/catalog/scopes';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { ErrorBody } from '@holdpoint/contracts/values/errors';
import { type NatsConnection, RequestError, TimeoutError } from '@nats-io/transport-node';
import { z } from 'zod';
import { natsHeaders } from '../../kit/bus/seals.ts';
import type { Deployment } from '../deployment/deployment.ts';
import type { Attack } from '../evidence/attacks.ts';
import { createRandom } from '../random.ts';
import { defineFault } from './fault.ts';
import { withSenders } from './senders.ts';

const ENDPOINTS = Object.entries(ENDPOINT_SCOPES).flatMap(([service, endpoints]) =>
  Object.entries<Needed>(endpoints).map(([endpoint, needed]) => ({
    service: service as ServiceName,
    endpoint,
    needed,
  })),
);

const NOTHING = 'orchestrator-1000000';
/** Valid for most requests, because endpoints ignore other fields. Its ids name nothing. */
const BODY = JSON.stringify({
  id: NOTHING,
  task: NOTHING,
  node: 'none',
  version: 1,
  name: 'none',
  note: '',
  reason: 'none',
  workflow: 'sample',
  goal: 'go beyond the scope',
  target: 'workflow:none',
  state: 'open',
  action: 'drop',
  kind: 'quality',
  verdict: 'passed',
  summary: 'none',
  decision: 'approve',
  items: [],
});

/** Refusals for the scope. */
const REFUSED: ReadonlySet<string> = new Set(['APPROVALS_SCOPE', 'IDENTITY_SCOPE']);
/** The request did not come to its scope: another body is needed, no such route exists, or a service is away. */
const UNTRIED = /^(CONTRACT_|RUNTIME_UNAVAILABLE$|RUNTIME_TIMEOUT$)/;

const ANSWER_WITHIN_MS = 5_000;
const AT_ONCE = 8;

/** `ask` returns the code of the answer, and `ok` if the request was accepted. */
type Door = { readonly name: string; readonly ask: () => Promise<string> };
/** A token with one scope. */
type Bearer = { readonly scope: Scope; readonly token: string; readonly identity: string };

const isAway = (error: unknown): boolean =>
  error instanceof TimeoutError ||
  error instanceof RequestError ||
  (error instanceof Error && (error.name === 'TimeoutError' || error instanceof TypeError));

/** Undefined without an answer. */
const unlessAway = async <Answer>(ask: () => Promise<Answer>): Promise<Answer | undefined> => {
  try {
    return await ask();
  } catch (error) {
    if (isAway(error)) return undefined;
    throw error;
  }
};

const ERROR_HEADER = 'Nats-Service-Error-Code';

const onBus =
  (connection: NatsConnection) =>
  async (subject: string, body: string, named: Readonly<Record<string, string>>): Promise<unknown> => {
    const sent = natsHeaders(named);
    const reply = await connection.request(subject, body, { timeout: ANSWER_WITHIN_MS, headers: sent });
    return reply.headers?.get(ERROR_HEADER) ? ErrorBody.parse(reply.json()).code : reply.json();
  };

const bearersOf = async (
  { people }: Deployment,
  request: ReturnType<typeof onBus>,
): Promise<readonly Bearer[]> => {
  const by = { authorization: `Bearer ${people[0]?.token ?? ''}` };
  const found: Bearer[] = [];
  for (const scope of Scope.options) {
    const token = `hpt_${randomBytes(32).toString('base64url')}`;
    const sha256 = createHash('sha256').update(token).digest('hex');
    const made = JSON.stringify({ name: `torture ${scope}`, sha256, scopes: [scope], expiresInMs: 600_000 });
    const identity = await unlessAway(async () => {
      await request(subjects.api('approvals', 'token_create'), made, by);
      return request(subjects.api('approvals', 'identify'), '{}', { authorization: `Bearer ${token}` });
    });
    const { data } = IssuedIdentity.safeParse(identity);
    if (data !== undefined) found.push({ scope, token, identity: data.assertion });
  }
  return found;
};

/** Everything that one token must not open, on the bus and in the console. */
const doorsFor = (
  { consoles }: Deployment,
  request: ReturnType<typeof onBus>,
  { scope, token, identity }: Bearer,
): readonly Door[] =>
  ENDPOINTS.filter(({ needed }) => needed !== 'any' && needed !== scope).flatMap(({ service, endpoint }) => {
    const name = `${service}.${endpoint} with ${scope} alone`;
    const authorization = `Bearer ${token}`;
    const proof = service === 'approvals' ? { authorization } : { [IDENTITY_HEADER]: identity };
    const doors: Door[] = [];
    // Other endpoints are open to everybody on the bus.
    if (service === 'approvals' ? needsToken(endpoint) : takesIdentity(service, endpoint))
      doors.push({
        name: `${name} on the bus`,
        ask: async () => {
          const answer = await request(subjects.api(service, endpoint), BODY, proof);
          return typeof answer === 'string' ? answer : 'ok';
        },
      });
    for (const console of consoles)
      doors.push({
        name: `${name} in the console`,
        ask: async () => {
          const response = await fetch(`${console}/console/api/${service}/${endpoint}`, {
            method: 'POST',
            headers: { authorization, 'content-type': 'application/json' },
            body: BODY,
            signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
          });
          return response.ok ? 'ok' : ErrorBody.parse(await response.json()).code;
        },
      });
    return doors;
  });

/** An attacker with a token of one scope tries the endpoints that need another scope. */
export const tokenScopes = defineFault({
  name: 'token-scopes',
  group: 'attack',
  params: z.object({ attempts: z.int().min(1), seed: z.string() }),
  draw: (random) => ({ attempts: random.int(60, 200), seed: String(random.int(0, 2 ** 31)) }),
  takes: () => ['nats'],
  inject: ({ attempts, seed }, { deployment }) =>
    withSenders(deployment, async ({ operator }) => {
      const random = createRandom(`${seed}/scopes`);
      const request = onBus(operator);
      const bearers = await bearersOf(deployment, request);
      const doors = bearers.flatMap((bearer) => doorsFor(deployment, request, bearer));
      const left = Array.from({ length: doors.length === 0 ? 0 : attempts }, () => random.pick(doors));
      const accepted: string[] = [];
      let tried = 0;
      const knock = async (): Promise<void> => {
        for (let door = left.shift(); door !== undefined; door = left.shift()) {
          const code = await unlessAway(door.ask);
          if (code === undefined || UNTRIED.test(code)) continue;
          tried += 1;
          if (!REFUSED.has(code)) accepted.push(`${door.name}: ${code}`);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, knock));
      return { tried, accepted } satisfies Attack;
    }),
});
