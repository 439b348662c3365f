import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { type AccessTokenView, CreateAccessToken } from '@holdpoint/contracts/approval/access-token';
import { AddPerson, type PersonView } from '@holdpoint/contracts/approval/people';
import type { RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import type { RuleView } from '@holdpoint/contracts/approval/standing-rule';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { DecideApproval } from '@holdpoint/contracts/approval/commands';
import type { ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import type { StoredDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import type { ClaimantView } from '@holdpoint/contracts/effect/remote';
import type { EffectView } from '@holdpoint/contracts/effect/views';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { accessTokenIdOf, TaskId } from '@holdpoint/contracts/values/ids';
import type { FailureCount } from '@holdpoint/contracts/recovery/views';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { root } from '@holdpoint/infra/local/folders';
import { type WebSocket, WebSocketServer } from 'ws';

/** The data of the stand-in; a test changes it as it runs. */
export type StandInState = {
  approvals: ApprovalView[];
  tasks: TaskView[];
  history: HistoryEntry[];
  log: object[];
  recovery: ApiResponse<'recovery', 'history'>;
  stuck: ApiResponse<'recovery', 'stuck'>['items'];
  report: string;
  circuits: ApiResponse<'recovery', 'circuits'>['items'];
  /** Failures by the number of hours or days back, for either unit: 1 is the current one. */
  classes: readonly (Pick<FailureCount, 'class' | 'count'> & { readonly back: number })[];
  /** The end of the first page of tasks, if there are more. */
  more?: string | undefined;
  audit: ApiResponse<'approvals', 'audit'>['items'];
  keys: ApiResponse<'approvals', 'keys'>['keys'];
  people: PersonView[];
  tokens: AccessTokenView[];
  rules: RuleView[];
  capabilities: RegisteredCapability[];
  claimants: ClaimantView[];
  effects: EffectView[];
  /** Rights of the user. */
  scopes: readonly string[];
  isAdministrator: boolean;
  /** The refusal of the next person. */
  refusePerson: string | undefined;
  /** The code of a sign-in link that is not used yet. */
  code: string;
  artifacts: ApiResponse<'executor', 'artifacts'>['items'];
  /** The content of each artifact. */
  content: string;
  workflows: ApiResponse<'orchestrator', 'workflows'>['items'];
  /** The refusal of a task start. */
  refusal: { readonly code: string; readonly message: string; readonly details?: object } | undefined;
  health: object;
  letters: StoredDeadLetter[];
  /**
   * The handling of a decision or a task start before its answer: `lose-before` and `lose-after` close the
   * connection instead.
   */
  fate: 'answer' | 'lose-before' | 'lose-after';
  token: string;
};

export type ConsoleStandIn = {
  readonly url: string;
  readonly state: StandInState;
  /** Every decision that arrived. */
  readonly decisions: readonly DecideApproval[];
  /** The filters of every request for a task list. */
  readonly lists: readonly Readonly<Record<string, unknown>>[];
  /** Every start of a task, counted as often as it arrived. */
  readonly submissions: readonly ApiRequest<'orchestrator', 'submit'>[];
  /** The idempotency keys of the decisions on an approval, counted as often as they arrived. */
  readonly keysOf: (id: string) => readonly string[];
  /** Sends it to all watchers. */
  readonly tell: (type: 'requested' | 'resolved', approval: ApprovalView) => void;
  /** Ends every open connection. */
  readonly disconnect: () => void;
  readonly stop: () => Promise<void>;
};

const DIST = join(root, 'packages/console/dist');
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};
/** As strict as the service. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const bodyOf = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString() || '{}') as unknown;
};

const refusal = (status: number, code: string, message: string) => ({ status, body: { code, message } });
const OUTCOMES = { approve: 'approved', reject: 'rejected', request_changes: 'changes_requested' } as const;

/**
 * Serves the built page and answers like the approvals service, from memory, for the requests of the page
 * only.
 */
export const startConsoleStandIn = async (state: StandInState): Promise<ConsoleStandIn> => {
  const decisions: DecideApproval[] = [];
  const lists: Readonly<Record<string, unknown>>[] = [];
  const submissions: ApiRequest<'orchestrator', 'submit'>[] = [];
  const keys: (readonly [id: string, key: string])[] = [];
  const watchers = new Set<WebSocket>();
  let seq = 1;
  const tell: ConsoleStandIn['tell'] = (type, approval) => {
    seq += 1;
    const text = JSON.stringify({ type: `approval.${type}`, seq, at: Date.now(), approval });
    for (const socket of watchers) socket.send(text);
  };

  const decide = (request: DecideApproval) => {
    const at = state.approvals.findIndex(({ id }) => id === request.id);
    const view = state.approvals[at];
    decisions.push(request);
    if (view === undefined) return refusal(404, 'APPROVALS_UNKNOWN', 'there is no such approval');
    if (view.status !== 'pending')
      return refusal(409, 'APPROVALS_ALREADY_DECIDED', `decided by ${view.decidedBy ?? ''}`);
    const status =
      (OUTCOMES as Readonly<Record<string, ApprovalView['status']>>)[request.decision] ?? 'answered';
    const decided: ApprovalView = {
      ...view,
      status,
      decidedBy: 'operator',
      decidedAt: Date.now(),
      surface: 'web',
      ...(request.comment !== undefined && { comment: request.comment }),
    };
    state.approvals[at] = decided;
    tell('resolved', decided);
    return { status: 200, body: { id: view.id, status, by: 'operator' } };
  };

  const submit = (request: ApiRequest<'orchestrator', 'submit'>) => {
    const { refusal: refused } = state;
    if (refused !== undefined) return { status: 400, body: refused };
    submissions.push(request);
    const [like] = state.tasks;
    const { id, workflow, goal } = request;
    if (like === undefined || id === undefined) throw new TypeError('there is no task that it could be like');
    if (state.tasks.every((task) => task.id !== id))
      state.tasks = [...state.tasks, { ...like, id: TaskId.parse(id), workflow, goal }];
    return { status: 200, body: { id, phase: 'execution_ready', version: 1 } };
  };

  type RequestBody = Readonly<Record<string, unknown>>;
  const answers: Readonly<Record<string, (asked: RequestBody) => unknown>> = {
    'approvals/whoami': () => ({
      name: 'operator',
      groups: ['operators'],
      roles: [],
      scopes: state.scopes,
      administrator: state.isAdministrator,
    }),
    'approvals/list': ({ status = 'pending' }) => ({
      items: state.approvals.filter((view) =>
        status === 'decided' ? view.status !== 'pending' : view.status === status,
      ),
    }),
    'approvals/get': ({ id }) => state.approvals.find((view) => view.id === id),
    'approvals/decide_many': ({ items, ...rest }) => ({
      items: (items as readonly { id: string }[]).map((item) => ({
        id: item.id,
        decided: decide({ ...item, ...rest } as DecideApproval).body,
      })),
    }),
    'approvals/person_list': () => ({ items: state.people }),
    'approvals/person_add': (person) => {
      const { name, groups, displayName } = AddPerson.parse(person);
      const added: PersonView = {
        name,
        groups,
        ...(displayName !== undefined && { displayName }),
        status: 'active',
        source: 'store',
        administrator: false,
        addedBy: 'operator',
        addedAt: Date.now(),
      };
      state.people = [...state.people, added];
      return added;
    },
    'approvals/person_remove': ({ name }) => {
      state.people = state.people.map((person) =>
        person.name === name ? { ...person, status: 'removed' } : person,
      );
      state.tokens = state.tokens.filter(({ principal }) => principal !== name);
      return state.people.find((person) => person.name === name);
    },
    'approvals/token_list': () => ({ items: state.tokens }),
    'approvals/token_create': (asked) => {
      const { name, principal = 'operator', sha256 } = CreateAccessToken.parse(asked);
      const token: AccessTokenView = {
        id: accessTokenIdOf(sha256),
        name,
        principal,
        groups: [],
        scopes: ['approvals:read', 'approvals:decide'],
        status: 'active',
        createdBy: 'operator',
        createdAt: Date.now(),
      };
      state.tokens = [...state.tokens, token];
      return token;
    },
    'approvals/token_revoke': ({ id }) => {
      const revoked = state.tokens.find((token) => token.id === id);
      state.tokens = state.tokens.filter((token) => token !== revoked);
      return revoked;
    },
    'approvals/rule_list': () => ({ items: state.rules }),
    'approvals/rule_revoke': ({ id }) => {
      const revoked = state.rules.find((rule) => rule.id === id);
      state.rules = state.rules.filter((rule) => rule !== revoked);
      return revoked;
    },
    'approvals/audit': ({ after = 0, about }) => ({
      items: state.audit.filter(
        (line) => line.seq > Number(after) && (about === undefined || line.aggregate === about),
      ),
      more: false,
    }),
    'approvals/keys': () => ({ keys: state.keys, statements: [] }),
    'orchestrator/list': (asked) => {
      lists.push(asked);
      const { phase, workflow, requestedBy, search = '' } = asked;
      return {
        items: state.tasks
          .filter((task) => phase === undefined || task.phase === phase)
          .filter((task) => workflow === undefined || task.workflow === workflow)
          .filter((task) => requestedBy === undefined || task.requestedBy === requestedBy)
          .filter(({ goal }) => goal.toLowerCase().includes(String(search).toLowerCase()))
          .map(({ id, workflow, goal, phase, version, requestedBy }) => ({
            id,
            workflow,
            goal,
            phase,
            version,
            createdAt: 1_768_469_400_000,
            ...(phase === 'completed' && { finishedAt: 1_768_469_525_000 }),
            requestedBy,
          })),
        ...(state.more !== undefined && asked['after'] === undefined && { next: state.more }),
      };
    },
    'orchestrator/get': ({ id }) => state.tasks.find((task) => task.id === id),
    'orchestrator/workflows': () => ({ items: state.workflows }),
    'orchestrator/history': ({ after = 0 }) => ({
      events: state.history.filter(({ version }) => version > Number(after)),
      more: false,
    }),
    'orchestrator/pause': ({ id }) => {
      state.tasks = state.tasks.map((task) => (task.id === id ? { ...task, phase: 'paused' } : task));
      return { id, phase: 'paused', version: 1 };
    },
    'approvals/capability_list': () => ({ items: state.capabilities }),
    'executor/claimants': () => ({ items: state.claimants }),
    'executor/list': () => ({ items: state.effects }),
    'executor/artifacts': () => ({ items: state.artifacts }),
    'executor/artifact': ({ uri, offset = 0 }) => ({
      uri,
      stored: true,
      data: Buffer.from(state.content).subarray(Number(offset)).toString('base64'),
    }),
    'recovery/history': () => state.recovery,
    'recovery/stuck': () => ({ items: state.stuck }),
    'recovery/report': () => ({ job: state.stuck[0], stuck: true, report: state.report }),
    'recovery/failure_counts': ({ from, to, bucket }) => ({
      from,
      to,
      bucket,
      items: state.classes.map(({ back, ...item }) => ({
        ...item,
        at: Number(to) - back * (bucket === 'day' ? 86_400_000 : 3_600_000),
      })),
    }),
    'recovery/circuits': () => ({ items: state.circuits }),
    'recovery/circuit': ({ target, state: to }) => {
      state.circuits = state.circuits.map((circuit) =>
        circuit.target === target ? { ...circuit, state: to as 'open' } : circuit,
      );
      return state.circuits.find((circuit) => circuit.target === target);
    },
    'dlq/list': () => ({ items: state.letters }),
  };

  const answer = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const ask = async (request: IncomingMessage, response: ServerResponse, name: string): Promise<void> => {
    const requestBody = (await bodyOf(request)) as RequestBody;
    if (name === 'approvals/decide') {
      if (state.fate !== 'lose-before')
        keys.push([String(requestBody['id']), String(request.headers['idempotency-key'])]);
      if (state.fate === 'lose-before') return void request.socket.destroy();
      const { status, body } = decide(requestBody as unknown as DecideApproval);
      if (state.fate === 'lose-after') return void request.socket.destroy();
      return answer(response, status, body);
    }
    if (name === 'orchestrator/submit') {
      if (state.fate === 'lose-before') return void request.socket.destroy();
      const { status, body } = submit(requestBody as unknown as ApiRequest<'orchestrator', 'submit'>);
      if (state.fate === 'lose-after') return void request.socket.destroy();
      return answer(response, status, body);
    }
    if (name === 'approvals/person_add' && state.refusePerson !== undefined)
      return answer(response, 400, { code: 'CONTRACT_INVALID', message: state.refusePerson });
    const found = answers[name]?.(requestBody);
    return found === undefined
      ? answer(response, 404, {
          code: name.startsWith('orchestrator/') ? 'ORCHESTRATOR_UNKNOWN_TASK' : 'APPROVALS_UNKNOWN',
          message: 'there is no such thing',
        })
      : answer(response, 200, found);
  };
  const redeem = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { code } = (await bodyOf(request)) as { readonly code?: unknown };
    if (code !== state.code)
      return answer(response, 401, {
        code: 'APPROVALS_SIGN_IN_REFUSED',
        message: 'this sign-in link was used already: get a new one with `holdpoint console`',
      });
    state.code = '';
    return answer(response, 200, { token: state.token });
  };
  const events = (response: ServerResponse, query: URLSearchParams): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': hb\n\n');
    if (query.get('log') !== '1') return;
    for (const line of state.log) response.write(`event: log\ndata: ${JSON.stringify(line)}\n\n`);
  };
  const file = async (response: ServerResponse, path: string): Promise<void> => {
    try {
      const content = await readFile(join(DIST, path === '/' ? 'index.html' : path));
      response
        .writeHead(200, {
          'content-type': TYPES[extname(path === '/' ? '.html' : path)] ?? TYPES['.html'] ?? '',
          'content-security-policy': POLICY,
          'x-content-type-options': 'nosniff',
        })
        .end(content);
    } catch {
      answer(response, 404, { code: 'CONTRACT_UNKNOWN_SUBJECT', message: 'no such path' });
    }
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    // With a token only.
    if (url.pathname === '/console/sign-in') return answer(response, 200, {});
    if (url.pathname === '/console/sign-in/code') return void redeem(request, response);
    const isAsked = url.pathname.startsWith('/console/');
    if (isAsked && request.headers.authorization !== `Bearer ${state.token}`)
      return answer(response, 401, { code: 'APPROVALS_UNAUTHENTICATED', message: 'the token is not known' });
    if (url.pathname.startsWith('/console/api/'))
      return void ask(request, response, url.pathname.slice('/console/api/'.length));
    if (url.pathname === '/console/health') return answer(response, 200, state.health);
    if (url.pathname === '/console/events') return events(response, url.searchParams);
    return void file(response, url.pathname);
  });
  const sockets = new WebSocketServer({
    server,
    path: '/api/v1/watch',
    handleProtocols: () => 'holdpoint.v1',
  });
  sockets.on('connection', (socket, { headers }) => {
    if (headers['sec-websocket-protocol']?.includes(`bearer.${state.token}`) !== true)
      return socket.close(4401);
    socket.on('close', () => watchers.delete(socket));
    socket.on('message', (data: Buffer) => {
      const said = JSON.parse(data.toString()) as { type: string; after?: number };
      if (said.type !== 'subscribe') return;
      watchers.add(socket);
      socket.send(JSON.stringify({ type: 'subscribed', seq: said.after ?? seq }));
    });
    socket.send(JSON.stringify({ type: 'hello', seq, name: 'operator', heartbeatMs: 15_000 }));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const disconnect = (): void => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
  };
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`,
    state,
    decisions,
    lists,
    submissions,
    keysOf: (id) => keys.flatMap(([about, key]) => (about === id ? [key] : [])),
    tell,
    disconnect,
    stop: async () => {
      disconnect();
      sockets.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
