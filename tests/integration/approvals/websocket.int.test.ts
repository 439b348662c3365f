import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { ErrorBody } from '@holdpoint/contracts/values/errors';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { WATCH_CLOSED, WATCH_PATH } from '@holdpoint/contracts/approval/watch';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ClientOptions, WebSocket } from 'ws';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { publishRequest, requestOf } from '../../kit/surfaces/requests.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { submitSample, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';
import { openWatcher, type Watcher, type WatcherOptions } from '../../kit/console/web.ts';

const person = (name: string, groups: readonly string[]): TestPrincipal => ({
  name,
  groups,
  token: `hpt_${name}`,
});
const ada = person('ada', ['operators']);
const grace = person('grace', ['operators']);
const guest = person('guest', ['visitors']);
const crowd = Array.from({ length: 100 }, (_, i) => person(`person-${String(i)}`, ['operators']));
const PAGE = 'https://approvals.example';
const HEARTBEAT_MS = 500;

let system: System;
let [approvals, replica]: (ServiceInProcess | undefined)[] = [];
let orchestrator: NatsConnection;
let settings: Record<string, string>;
beforeAll(async () => {
  system = await createSystem();
  const operator: TestPrincipal = { name: 'operator', groups: ['operators'], token: system.client.token };
  const principals = await writePrincipals(system.folder, [operator, ada, grace, guest, ...crowd]);
  settings = {
    HOLDPOINT_PRINCIPALS_FILE: principals,
    HOLDPOINT_ADMINISTRATORS: 'user:operator',
    HOLDPOINT_WEB_ORIGINS: PAGE,
    HOLDPOINT_WATCH_HEARTBEAT_MS: String(HEARTBEAT_MS),
  };
  const started = await Promise.all(
    SERVICES.map((service) => system.start(service, service === 'approvals' ? settings : {})),
  );
  approvals = started[SERVICES.indexOf('approvals')];
  replica = await system.start('approvals', settings);
  orchestrator = await system.connect('orchestrator');
});
afterAll(() => system.stop());

const open: Watcher[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((watcher) => watcher.stop()));
});

const portOf = (service: ServiceInProcess | undefined): number => {
  if (service === undefined) throw new Error('the service was not started');
  return service.httpPort;
};
const connect = (more: WatcherOptions, service = approvals): Watcher => {
  const watcher = openWatcher(portOf(service), more);
  open.push(watcher);
  return watcher;
};
/** Watches from now on, or after a line. */
const watch = async (
  { token }: Pick<TestPrincipal, 'token'>,
  { after, service, all }: { after?: number; service?: ServiceInProcess | undefined; all?: boolean } = {},
): Promise<Watcher> => {
  const watcher = connect({ token }, service);
  await watcher.first('hello');
  watcher.say({ type: 'subscribe', ...(after !== undefined && { after }), ...(all && { all }) });
  await watcher.first('subscribed');
  return watcher;
};

const ask = async (more: Partial<RequestApproval> = {}): Promise<RequestApproval> => {
  const request = requestOf(more);
  await publishRequest(orchestrator, request);
  return request;
};
const decide = (id: string, decision: 'approve' | 'reject', as: TestPrincipal) =>
  system.client.ask('approvals', 'decide', { id, decision }, as.token);
const about =
  ({ id }: { readonly id: string }) =>
  ({ approval }: { readonly approval: { readonly id: string } }): boolean =>
    approval.id === id;

describe('a watcher', () => {
  test('a watcher receives a request with its subject and its token, and a decision of another surface', async () => {
    const watcher = await watch(ada);
    const request = await ask();
    const { approval, token, seq } = await watcher.first('approval.requested', about(request));
    expect(approval).toMatchObject({ id: request.id, digest: request.digest, effect: request.effect });
    expect(token).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    await decide(request.id, 'reject', grace);
    const resolved = await watcher.first('approval.resolved', about(request));
    expect(resolved.approval).toMatchObject({ status: 'rejected', decidedBy: 'grace', surface: 'api' });
    expect(resolved.seq).toBeGreaterThan(seq);
    expect(resolved.token).toBeUndefined();
  });

  test('a watcher receives votes, reminders and escalations', async () => {
    const watcher = await watch(ada);
    const request = await ask({
      policy: { quorum: 2, remindMs: [1_000], handOn: [{ afterMs: 1_200, audience: ['visitors'] }] },
    });
    const late = await watch(guest);
    await watcher.first('approval.requested', about(request));
    await decide(request.id, 'approve', grace);
    const voted = await watcher.first(
      'approval.updated',
      (said) => about(request)(said) && said.change === 'voted',
    );
    expect(voted.approval.votes).toMatchObject([{ by: 'grace', decision: 'approve' }]);
    await watcher.first('approval.updated', (said) => about(request)(said) && said.change === 'reminded');
    // The person to whom the request is escalated receives it. A late reminder may come before.
    const handed = await late.first(
      'approval.updated',
      (said) => about(request)(said) && said.change === 'escalated',
    );
    expect(handed.token).toEqual(expect.any(String));
    late.say({
      type: 'approval.respond',
      ref: '1',
      id: request.id,
      decision: 'approve',
      digest: request.digest,
      token: handed.token,
    });
    expect((await late.first('approval.responded')).ok).toMatchObject({ status: 'approved', by: 'guest' });
  });

  test('a watcher approves, and the task completes', async () => {
    const watcher = await watch(ada);
    const task = await submitSample(system.client);
    const { approval, token } = await watcher.first('approval.requested', about({ id: task.approval }));
    const { id, digest } = approval;
    watcher.say({
      type: 'approval.respond',
      ref: 'r-1',
      id,
      decision: 'approve',
      digest,
      token,
      comment: 'good',
    });
    expect(await watcher.first('approval.responded')).toEqual({
      type: 'approval.responded',
      ref: 'r-1',
      ok: { id, status: 'approved', by: 'ada' },
    });
    await waitForPhase(system.client, task.id, 'completed');
    const resolved = await watcher.first('approval.resolved', about({ id }));
    expect(resolved.approval).toMatchObject({ decidedBy: 'ada', surface: 'websocket', comment: 'good' });
  });

  test('a watcher rejects, and the task fails as forbidden', async () => {
    const watcher = await watch(ada);
    const task = await submitSample(system.client);
    const { approval } = await watcher.first('approval.requested', about({ id: task.approval }));
    const { id, digest } = approval;
    watcher.say({ type: 'approval.respond', ref: 'no', id, digest, decision: 'reject' });
    expect((await watcher.first('approval.responded')).ok).toMatchObject({ status: 'rejected' });
    expect((await waitForPhase(system.client, task.id, 'failed')).error?.code).toBe('ERR_FORBIDDEN');
  });

  test('a watcher receives the reason of a refused decision, under the id of its message', async () => {
    const watcher = await watch(ada);
    const request = await ask();
    await watcher.first('approval.requested', about(request));
    const { id } = request;
    const base = { type: 'approval.respond', id, decision: 'approve', digest: request.digest };
    watcher.say({ ...base, ref: 'blind', digest: undefined });
    watcher.say({ ...base, ref: 'digest', digest: '0'.repeat(64) });
    watcher.say({ ...base, ref: 'token', token: crypto.randomUUID() });
    watcher.say({ ...base, ref: 'unknown', id: 'a-none' });
    watcher.say({ ...base, ref: 'choice', decision: 'retry' });
    watcher.say({ ...base, ref: 'shape', decision: 'perhaps' });
    const errors = {
      blind: 'APPROVALS_DIGEST_REQUIRED',
      digest: 'APPROVALS_DIGEST_MISMATCH',
      token: 'APPROVALS_TOKEN_MISMATCH',
      unknown: 'APPROVALS_UNKNOWN',
      choice: 'APPROVALS_NO_CHOICE',
    };
    for (const [ref, code] of Object.entries(errors)) {
      const { ok, error } = await watcher.first('approval.responded', (said) => said.ref === ref);
      expect([ok, error?.code]).toEqual([undefined, code]);
    }
    expect(await watcher.first('error', ({ ref }) => ref === 'shape')).toMatchObject({
      error: { code: 'CONTRACT_INVALID' },
    });
    expect((await system.client.ask('approvals', 'get', { id })).status).toBe('pending');
  });

  test('a watcher receives its own requests; an administrator or a broader subscription receives all', async () => {
    const [own, others, administrator] = [
      await watch(guest),
      await watch(guest, { all: true }),
      await watch(system.client),
    ];
    const hidden = await ask();
    const shown = await ask({ audience: ['visitors'] });
    expect((await own.first('approval.requested', about(shown))).token).toBeDefined();
    const seen = await others.first('approval.requested', about(hidden));
    expect(seen.token).toBeUndefined();
    await administrator.first('approval.requested', about(hidden));
    // Both watchers receive lines in order: a line that has not arrived by now was not sent.
    expect(own.all('approval.requested').filter(about(hidden))).toEqual([]);
  });

  test('a watcher gets no decision buttons for its own request when four eyes are required', async () => {
    const watcher = await watch(ada);
    const request = await ask({ requestedBy: 'ada', policy: { fourEyes: true } });
    expect((await watcher.first('approval.requested', about(request))).token).toBeUndefined();
    watcher.say({
      type: 'approval.respond',
      ref: 'own',
      id: request.id,
      digest: request.digest,
      decision: 'approve',
    });
    expect((await watcher.first('approval.responded')).error?.code).toBe('APPROVALS_FOUR_EYES');
  });

  test('a watcher of one replica receives the decision of another', async () => {
    const [here, there] = [await watch(ada), await watch(grace, { service: replica })];
    const request = await ask();
    await Promise.all([here, there].map((each) => each.first('approval.requested', about(request))));
    there.say({
      type: 'approval.respond',
      ref: 'x',
      id: request.id,
      digest: request.digest,
      decision: 'approve',
    });
    const { approval } = await here.first('approval.resolved', about(request));
    expect(approval).toMatchObject({ status: 'approved', decidedBy: 'grace', surface: 'websocket' });
  });

  test('a connection survives a pause in which the service is too busy to read pongs', async () => {
    const watcher = await watch(ada);
    for (let i = 0; i < 5; i += 1) {
      // The service runs in this process: one turn for the input, then no message for longer than a
      // heartbeat.
      await new Promise((resolve) => setImmediate(resolve));
      const end = performance.now() + HEARTBEAT_MS * 1.2;
      while (performance.now() < end);
    }
    const request = await ask();
    const { approval } = await watcher.first('approval.requested', about(request));
    expect(approval.status).toBe('pending');
  });

  test('a watcher receives heartbeats with its position', async () => {
    const watcher = await watch(ada);
    const request = await ask({ audience: ['nobody-at-all'] });
    const entries = await until(`${request.id} is in the log`, async () => {
      const { items } = await system.client.ask('approvals', 'audit', { about: request.id });
      return items.length > 0 ? items : undefined;
    });
    await watcher.first('ping', ({ seq = 0 }) => seq >= (entries[0]?.seq ?? Infinity));
    watcher.say({ type: 'ping' });
    await watcher.first('pong');
    expect(watcher.all('approval.requested').filter(about(request))).toEqual([]);
  });
});

describe('a reconnect', () => {
  test('a reconnect at any position misses nothing and repeats nothing', async () => {
    const before = await watch(ada);
    const first = await ask();
    const { seq } = await before.first('approval.requested', about(first));
    await before.stop();
    const missed = await Promise.all(Array.from({ length: 30 }, () => ask()));
    for (const { id } of missed.slice(0, 10))
      await until('it is decided', () => decide(id, 'approve', grace));
    const during = await watch(ada, { after: seq, service: replica });
    const last = await ask();
    await during.first('approval.requested', about(last));
    const told = during.all('approval.requested', 'approval.resolved');
    const seqs = told.map((each) => each.seq);
    expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
    expect(Math.min(...seqs)).toBeGreaterThan(seq);
    const requested = told
      .filter(({ type }) => type === 'approval.requested')
      .map(({ approval }) => approval.id);
    expect(requested.toSorted()).toEqual([...missed, last].map(({ id }) => id).toSorted());
    expect(told.filter(({ type }) => type === 'approval.resolved')).toHaveLength(10);
  });

  test('watchers that resume from different lines all receive the rest', async () => {
    const requests = [];
    const { seq: start } = await (await watch(ada)).first('hello');
    for (let i = 0; i < 12; i += 1) requests.push(await ask());
    const whole = await watch(ada, { after: start });
    for (const request of requests) await whole.first('approval.requested', about(request));
    const told = whole.all('approval.requested');
    const later = await Promise.all(told.map(({ seq }) => watch(ada, { after: seq })));
    const end = await ask();
    for (const [i, watcher] of later.entries()) {
      await watcher.first('approval.requested', about(end));
      expect(watcher.all('approval.requested').slice(0, -1)).toEqual(told.slice(i + 1));
    }
  });

  test('a watcher that starts at the beginning receives everything', async () => {
    const request = await ask();
    const watcher = await watch(system.client, { after: 0 });
    await watcher.first('approval.requested', about(request));
    const seqs = watcher
      .all('approval.requested', 'approval.updated', 'approval.resolved')
      .map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
  });

  test('a watcher with a position beyond the log starts over', async () => {
    const watcher = await watch(ada, { after: 1_000_000_000 });
    const { seq } = await watcher.first('reset');
    expect(seq).toBeLessThan(1_000_000_000);
    const request = await ask();
    expect((await watcher.first('approval.requested', about(request))).seq).toBeGreaterThan(seq);
  });
});

/** The answer to a connection that is not upgraded. */
const refusedUpgrade = (
  more: { token?: string; path?: string; options?: ClientOptions } = {},
): Promise<{ status: number | undefined; code: string }> => {
  const { token, path = WATCH_PATH, options } = more;
  const socket = new WebSocket(`ws://127.0.0.1:${String(portOf(approvals))}${path}`, {
    ...options,
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
  });
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('open', () => {
      socket.terminate();
      reject(new Error('it was taken over'));
    });
    socket.on('unexpected-response', (_: unknown, response: IncomingMessage) => {
      response
        .toArray()
        .then((parts) => ErrorBody.parse(JSON.parse(Buffer.concat(parts as Buffer[]).toString())))
        .then(({ code }) => resolve({ status: response.statusCode, code }), reject);
    });
  });
};

const narrowToken = async (...scopes: ('approvals:read' | 'approvals:decide')[]) => {
  const secret = `hpt_${crypto.randomUUID()}`;
  const sha256 = createHash('sha256').update(secret).digest('hex');
  const { id } = await system.client.ask(
    'approvals',
    'token_create',
    { name: 'narrow', sha256, scopes },
    ada.token,
  );
  return { id, token: secret };
};

describe('access to the WebSocket', () => {
  test.each([
    'https://approvals.example.evil',
    'https://approvals.exampl',
    'http://approvals.example',
    'https://evil.example',
    'null',
    'file://',
  ])('a page of %s may not watch, whatever its token', async (origin) => {
    expect(await refusedUpgrade({ token: ada.token, options: { origin } })).toEqual({
      status: 403,
      code: 'APPROVALS_ORIGIN_REFUSED',
    });
  });

  test('a page of the service itself or of a configured origin may watch', async () => {
    for (const origin of [PAGE, `http://127.0.0.1:${String(portOf(approvals))}`]) {
      const watcher = connect({ protocols: ['holdpoint.v1', `bearer.${ada.token}`], options: { origin } });
      expect((await watcher.first('hello')).name).toBe('ada');
      expect(watcher.socket.protocol).toBe('holdpoint.v1');
    }
  });

  test('a client without a valid token may not watch, however it sends the token', async () => {
    expect(await refusedUpgrade({ token: 'hpt_wrong' })).toEqual({
      status: 401,
      code: 'APPROVALS_UNAUTHENTICATED',
    });
    const byProtocol = connect({ protocols: ['holdpoint.v1', 'bearer.hpt_wrong'] });
    const byMessage = connect({});
    byMessage.socket.once('open', () => byMessage.say({ type: 'authenticate', token: 'hpt_wrong' }));
    for (const watcher of [byProtocol, byMessage]) {
      expect((await watcher.closed).code).toBe(WATCH_CLOSED.unauthenticated);
      expect((await watcher.first('error')).error.code).toBe('APPROVALS_UNAUTHENTICATED');
    }
  });

  test('a token without the read scope may not watch', async () => {
    const { token } = await narrowToken('approvals:decide');
    expect(await refusedUpgrade({ token })).toEqual({ status: 403, code: 'APPROVALS_SCOPE' });
  });

  test('a read-only token gets no decision buttons and decides nothing', async () => {
    const watcher = await watch(await narrowToken('approvals:read'));
    const request = await ask();
    expect((await watcher.first('approval.requested', about(request))).token).toBeUndefined();
    watcher.say({
      type: 'approval.respond',
      ref: 'x',
      id: request.id,
      digest: request.digest,
      decision: 'approve',
    });
    expect((await watcher.first('approval.responded')).error?.code).toBe('APPROVALS_SCOPE');
    watcher.say({ type: 'subscribe', all: true });
    expect((await watcher.first('error')).error.code).toBe('APPROVALS_SCOPE');
  });

  test('a client with a token in its first message may watch, and one without may not', async () => {
    const watcher = connect({});
    watcher.socket.once('open', () => {
      watcher.say({ type: 'subscribe' });
      watcher.say({ type: 'authenticate', token: ada.token });
    });
    expect((await watcher.first('error')).error.code).toBe('APPROVALS_UNAUTHENTICATED');
    expect((await watcher.first('hello')).name).toBe('ada');
    const silent = connect({});
    expect((await silent.closed).code).toBe(WATCH_CLOSED.unauthenticated);
    expect(silent.messages.filter(({ type }) => type !== 'ping')).toEqual([]);
  });

  test('the revocation of a token closes its connections, and none decides before that', async () => {
    const { id, token } = await narrowToken('approvals:read', 'approvals:decide');
    const watcher = await watch({ token });
    const request = await ask();
    await watcher.first('approval.requested', about(request));
    await system.client.ask('approvals', 'token_revoke', { id }, ada.token);
    watcher.say({
      type: 'approval.respond',
      ref: 'late',
      id: request.id,
      digest: request.digest,
      decision: 'approve',
    });
    expect((await watcher.closed).code).toBe(WATCH_CLOSED.unauthenticated);
    expect((await system.client.ask('approvals', 'get', { id: request.id })).status).toBe('pending');
  });

  test('silent strangers cannot occupy all connections', async () => {
    const silent = Array.from({ length: 100 }, () => connect({}));
    await untilTrue('all are connected', () =>
      silent.every(({ socket }) => socket.readyState === socket.OPEN),
    );
    expect(await refusedUpgrade()).toEqual({ status: 429, code: 'APPROVALS_TOO_MANY_ATTEMPTS' });
    // A client with a token in the header is accepted.
    expect((await connect({ token: ada.token }).first('hello')).name).toBe('ada');
    await silent[0]?.stop();
    await until('there is a free slot', async () => {
      const next = connect({ protocols: ['holdpoint.v1', `bearer.${ada.token}`] });
      return Promise.race([next.first('hello'), next.closed.then(() => undefined)]);
    });
  });

  test('silent strangers behind a trusted proxy keep only their own address out', async () => {
    const behindProxy = await system.start('approvals', {
      ...settings,
      HOLDPOINT_TRUSTED_PROXIES: '127.0.0.0/8',
    });
    // The left part is what a client itself sends: it must not make a stranger many.
    const as = (client: string, i = 0): WatcherOptions => ({
      options: { headers: { 'x-forwarded-for': `192.0.2.${String(i)}, ${client}` } },
    });
    const silent = Array.from({ length: 100 }, (_, i) => connect(as('203.0.113.1', i), behindProxy));
    await untilTrue('all are connected', () =>
      silent.every(({ socket }) => socket.readyState === socket.OPEN),
    );
    const next = connect(as('203.0.113.1', 100), behindProxy);
    const other = connect(
      { ...as('203.0.113.2'), protocols: ['holdpoint.v1', `bearer.${ada.token}`] },
      behindProxy,
    );
    expect((await next.closed).code).toBe(1_006);
    expect((await other.first('hello')).name).toBe('ada');
  });

  test('one person cannot hold more connections than the limit', async () => {
    const person = crowd[99] ?? ada;
    const watchers = Array.from({ length: 60 }, () => connect({ token: person.token }));
    const refused = await until('ten are too many', () => {
      const closed = watchers.filter((each) => each.all('error').length > 0);
      return closed.length >= 10 ? closed : undefined;
    });
    for (const watcher of refused) expect((await watcher.closed).code).toBe(WATCH_CLOSED.tooMany);
    await untilTrue(
      'the others watch',
      () => watchers.filter((each) => each.all('hello').length > 0).length === 50,
    );
    // A closed connection frees its slot.
    await watchers.find((each) => each.all('hello').length > 0)?.stop();
    const next = await until('a watcher has left', async () => {
      const again = connect({ token: person.token });
      return Promise.race([again.first('hello'), again.closed.then(() => undefined)]);
    });
    expect(next.name).toBe(person.name);
  });

  test.each(['/api/v1/watch/', '/api/v1/approvals', '/', '/healthz', '//'])(
    '%s is not the path of the WebSocket',
    async (path) => {
      expect(await refusedUpgrade({ token: ada.token, path })).toEqual({
        status: 404,
        code: 'CONTRACT_UNKNOWN_SUBJECT',
      });
    },
  );
});

describe('bad messages', () => {
  test('a bad message gets an error, and later good ones still count', async () => {
    const watcher = await watch(ada);
    const request = await ask();
    await watcher.first('approval.requested', about(request));
    const bad: readonly (string | Uint8Array)[] = [
      'nonsense',
      '[]',
      '{"type":"unheard-of"}',
      `{"type":"subscribe","after":-1}`,
      `{"type":"approval.respond","id":"${request.id}","decision":"approve"}`,
      '{"type":"approval.respond","ref":"a","id":"a\\u0000","decision":"approve"}',
      '['.repeat(200) + ']'.repeat(200),
      new Uint8Array([1, 2, 3]),
    ];
    for (const message of bad) watcher.say(message);
    watcher.say({
      type: 'approval.respond',
      ref: 'good',
      id: request.id,
      digest: request.digest,
      decision: 'approve',
    });
    expect((await watcher.first('approval.responded')).ok).toMatchObject({ status: 'approved' });
    expect(watcher.all('error').map(({ error }) => error.code)).toEqual([
      'CONTRACT_NOT_JSON',
      'CONTRACT_INVALID',
      'CONTRACT_INVALID',
      'CONTRACT_INVALID',
      'CONTRACT_INVALID',
      'CONTRACT_NOT_JSON',
      'CONTRACT_INVALID',
      'CONTRACT_INVALID',
    ]);
  });

  test('a series of bad messages closes the connection', async () => {
    const watcher = await watch(ada);
    for (let i = 0; i < 20; i += 1) watcher.say('nonsense');
    expect((await watcher.closed).code).toBe(WATCH_CLOSED.badMessages);
    expect(watcher.all('error')).toHaveLength(10);
  });

  test('a message that is too large closes its connection at once, and no other', async () => {
    const [watcher, other] = [await watch(ada), await watch(grace)];
    watcher.say(JSON.stringify({ type: 'approval.respond', ref: 'x', comment: 'x'.repeat(70_000) }));
    expect((await watcher.closed).code).toBe(WATCH_CLOSED.tooLarge);
    const request = await ask();
    await other.first('approval.requested', about(request));
  });
});

test('a watcher that does not read is disconnected, and receives the rest after its return', async () => {
  const watcher = await watch(ada);
  const { seq } = await watcher.first('subscribed');
  watcher.socket.pause();
  const body = 'x'.repeat(30_000);
  const requests = await Promise.all(Array.from({ length: 10 }, () => ask({ body })));
  const { port } = { port: portOf(approvals) };
  await untilTrue('it is dropped', async () => {
    const text = await (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text();
    return /^holdpoint_watchers\{[^}]*\} 0$/m.test(text);
  });
  const again = await watch(ada, { after: seq });
  for (const request of requests) await again.first('approval.requested', about(request));
  watcher.socket.terminate();
});

test('a watcher that cannot keep up is closed with a reason, and resumes from its position', async () => {
  const patient = await system.start('approvals', { ...settings, HOLDPOINT_WATCH_HEARTBEAT_MS: '60000' });
  const [slow, quick] = [await watch(ada, { service: patient }), await watch(grace, { service: patient })];
  const { seq: start } = await slow.first('subscribed');
  slow.socket.pause();
  // Far more than the buffers of the operating system hold for a client that does not read.
  const requests = Array.from({ length: 60 }, () => {
    const { effect, ...request } = requestOf();
    const large = { ...effect, args: { ...effect.args, line: 'x'.repeat(400_000) } };
    return { ...request, effect: large, digest: effectDigest(large) };
  });
  for (const request of requests) await publishRequest(orchestrator, request);
  for (const request of requests) await quick.first('approval.requested', about(request));
  slow.socket.resume();
  expect((await slow.closed).code).toBe(WATCH_CLOSED.slow);
  const heard = slow.all('approval.requested');
  expect(heard.length).toBeLessThan(requests.length);
  // A resuming client reads at its own pace, whatever the backlog.
  const again = await watch(ada, { service: patient, after: heard.at(-1)?.seq ?? start });
  const end = await ask();
  await again.first('approval.requested', about(end));
  const ids = [...heard, ...again.all('approval.requested')].map(({ approval }) => approval.id);
  await quick.first('approval.requested', about(end));
  expect(ids).toEqual(quick.all('approval.requested').map(({ approval }) => approval.id));
});

test('one of a hundred votes at once counts, and all watchers receive the same decision', async () => {
  const watchers = await Promise.all(
    crowd.map((person, i) => watch(person, { service: i % 2 === 0 ? approvals : replica })),
  );
  const request = await ask();
  await Promise.all(watchers.map((each) => each.first('approval.requested', about(request))));
  for (const [i, watcher] of watchers.entries())
    watcher.say({
      type: 'approval.respond',
      ref: 'mine',
      id: request.id,
      digest: request.digest,
      decision: i % 3 === 0 ? 'reject' : 'approve',
    });
  const answers = await Promise.all(watchers.map((each) => each.first('approval.responded')));
  const winners = answers.flatMap(({ ok }) => (ok === undefined ? [] : [ok]));
  expect(winners).toHaveLength(1);
  const { status, by } = winners[0] ?? {};
  const standing = { code: 'APPROVALS_ALREADY_DECIDED', details: { status, by } };
  const refusals = answers.flatMap(({ error }) => (error === undefined ? [] : [error]));
  expect(refusals).toHaveLength(99);
  for (const error of refusals) expect(error).toMatchObject(standing);
  for (const watcher of watchers) {
    const { approval } = await watcher.first('approval.resolved', about(request));
    expect([approval.status, approval.decidedBy]).toEqual([status, by]);
  }
  const { items } = await system.client.ask('approvals', 'audit', { about: request.id });
  expect(items.filter(({ type }) => type === 'resolved')).toHaveLength(1);
});

test('watchers learn that the store was restored, and receive the later events', async () => {
  const watcher = await watch(ada);
  const before = await ask();
  const { seq } = await watcher.first('approval.requested', about(before));
  await withAdmin({ ...system.database.admin, database: system.database.name }, async (client) => {
    await client.query('SET search_path = approvals');
    // As after a restore: the latest lines are missing, and others will take their numbers.
    await client.query('DELETE FROM audit WHERE seq > $1', [seq - 2]);
    await client.query(
      "UPDATE audit_head SET (seq, hash) = (SELECT seq, encode(hash, 'hex') FROM audit ORDER BY seq DESC LIMIT 1)",
    );
  });
  const reset = await watcher.first('reset');
  expect(reset.seq).toBe(seq - 2);
  const after = await ask();
  expect((await watcher.first('approval.requested', about(after))).seq).toBeGreaterThan(reset.seq);
});

test('a service that stops closes connections with a reason, and a restart resumes at the position', async () => {
  const one = await system.start('approvals', settings);
  const watcher = await watch(ada, { service: one });
  const request = await ask();
  const { seq } = await watcher.first('approval.requested', about(request));
  await one.stop();
  expect((await watcher.closed).code).toBe(WATCH_CLOSED.stopping);
  await decide(request.id, 'approve', grace);
  const again = await watch(ada, { after: seq, service: await system.start('approvals', settings) });
  await again.first('approval.resolved', about(request));
});
