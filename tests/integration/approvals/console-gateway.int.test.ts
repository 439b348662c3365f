import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { api } from '@holdpoint/contracts/catalog/api';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { commandLine } from '../../kit/command-line.ts';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { openEvents, type ReadEvents } from '../../kit/bus/server-events.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { newTaskId, submitSample, waitForPhase, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';
import { type Answered, type Call, callHttp } from '../../kit/console/web.ts';

const guest: TestPrincipal = { name: 'guest', groups: ['visitors'], token: 'hpt_guest' };
const SCRIPT = `export const words = ${JSON.stringify('hold point '.repeat(400))};\n`;

let system: System;
let services: Readonly<Record<ServiceName, ServiceInProcess>>;
let port: number;
beforeAll(async () => {
  system = await createSystem();
  const folder = join(system.folder, 'page');
  await mkdir(join(folder, 'assets'), { recursive: true });
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Holdpoint</title>');
  await writeFile(join(folder, 'assets/main-0123.js'), SCRIPT);
  const operator: TestPrincipal = { name: 'operator', groups: ['operators'], token: system.client.token };
  const settings = {
    HOLDPOINT_PRINCIPALS_FILE: await writePrincipals(system.folder, [operator, guest]),
    HOLDPOINT_CONSOLE_DIR: folder,
    HOLDPOINT_WATCH_HEARTBEAT_MS: '300',
  };
  const started = await Promise.all(
    SERVICES.map(async (service) => [
      service,
      await system.start(service, service === 'approvals' ? settings : {}),
    ]),
  );
  services = Object.fromEntries(started) as typeof services;
  port = services.approvals.httpPort;
  await untilTrue('all are ready', async () => {
    const answers = await Promise.all(
      Object.values(services).map(({ httpPort }) => fetch(`http://127.0.0.1:${String(httpPort)}/readyz`)),
    );
    return answers.every(({ ok }) => ok);
  });
});
afterAll(() => system.stop());

const own = (): string => `http://127.0.0.1:${String(port)}`;
const ask = (path: string, body: unknown = {}, more: Call = {}) =>
  callHttp(port, `/console/${path}`, {
    method: 'POST',
    token: system.client.token,
    body,
    ...more,
    headers: { origin: own(), ...more.headers },
  });

/** The decision of a page that has shown the request. */
const asRead = async <Decision extends { readonly id: string }>(decision: Decision): Promise<object> => {
  const { body } = await ask('api/approvals/get', { id: decision.id });
  return { ...decision, digest: body['digest'] };
};

/** A token with few scopes. */
const tokenFor = (...scopes: readonly string[]): Promise<string> => tokenOf({ scopes });
const tokenOf = async (more: object): Promise<string> => {
  const secret = `hpt_${crypto.randomUUID()}`;
  const sha256 = createHash('sha256').update(secret).digest('hex');
  const made = await ask('api/approvals/token_create', { name: 'narrow', sha256, ...more });
  expect(made.status).toBe(200);
  return secret;
};

describe('the page', () => {
  test('the page has a policy that blocks all foreign content', async () => {
    const answer = await fetch(`${own()}/`);
    expect([answer.status, await answer.text()]).toEqual([200, '<!doctype html><title>Holdpoint</title>']);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
  });

  test.each(['br', 'gzip'])(
    'the page is sent as %s to a client that accepts it, and the browser caches it',
    async (encoding) => {
      const url = `${own()}/assets/main-0123.js`;
      const answer = await fetch(url, { headers: { 'accept-encoding': encoding } });
      expect(answer.headers.get('content-encoding')).toBe(encoding);
      expect(answer.headers.get('cache-control')).toContain('immutable');
      expect(Number(answer.headers.get('content-length'))).toBeLessThan(SCRIPT.length / 10);
      expect(await answer.text()).toBe(SCRIPT);
      const etag = answer.headers.get('etag') ?? '';
      expect((await fetch(url, { headers: { 'if-none-match': etag } })).status).toBe(304);
    },
  );

  test.each(['/assets/..%2f..%2fprincipals.json', '/%2e%2e/principals.json', '/assets/', '/principals.json'])(
    'no other file is served: %s',
    async (path) => {
      const answer = await callHttp(port, path);
      expect([answer.status, answer.body['code']]).toEqual([404, 'CONTRACT_UNKNOWN_SUBJECT']);
    },
  );
});

describe('a forwarded request', () => {
  test('the console shows a task and decides on it', async () => {
    const task = await submitSample(system.client);
    await waitForRequest(system.client, task);
    const { body } = await ask('api/orchestrator/get', { id: task.id });
    expect(api.orchestrator.get.response.parse(body)).toMatchObject({
      id: task.id,
      phase: 'awaiting_approval',
    });
    const blind = { id: task.approval, decision: 'approve' };
    expect(await ask('api/approvals/decide', blind)).toMatchObject({
      status: 400,
      body: { code: 'APPROVALS_DIGEST_REQUIRED' },
    });
    const decided = await ask('api/approvals/decide', await asRead(blind));
    expect(decided).toMatchObject({ status: 200, body: { status: 'approved', by: 'operator' } });
    await waitForPhase(system.client, task.id, 'completed');
    const { body: approval } = await ask('api/approvals/get', { id: task.approval });
    expect(approval).toMatchObject({ surface: 'web', decidedBy: 'operator' });
    expect((await ask('api/executor/list', { task: task.id })).body).toMatchObject({
      items: [{ task: task.id, state: 'applied' }],
    });
    expect((await ask('api/recovery/history', { task: task.id })).status).toBe(200);
  });

  test('a decision counts once, for the person who is signed in, whatever the page sends', async () => {
    const { id } = await submitSample(system.client);
    await waitForPhase(system.client, id, 'awaiting_approval');
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const said = { id, reason: 'no more', by: 'somebody-else' };
    const token = guest.token;
    expect((await ask('api/orchestrator/cancel', said, { token, headers })).status).toBe(200);
    expect((await ask('api/orchestrator/cancel', said, { token, headers })).status).toBe(200);
    const { body } = await ask('api/orchestrator/history', { id });
    const { events } = api.orchestrator.history.response.parse(body);
    const cancelled = events.filter(({ data }) => data['by'] !== undefined).map(({ data }) => data['by']);
    expect(cancelled).toEqual(['guest']);
    expect(JSON.stringify(events)).not.toContain('somebody-else');
  });

  test('a repeated start creates one task, in the name of the person who is signed in', async () => {
    const { body } = await ask('api/orchestrator/workflows');
    const { items } = api.orchestrator.workflows.response.parse(body);
    expect(items.map(({ id }) => id)).toEqual(['sample', 'http', 'draft', 'approve', 'merge', 'develop']);
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const said = { workflow: 'sample@1', goal: 'from a page', requestedBy: 'somebody-else' };
    const started = [
      await ask('api/orchestrator/submit', said, { headers }),
      await ask('api/orchestrator/submit', said, { headers }),
    ].map((answer) => api.orchestrator.submit.response.parse(answer.body).id);
    expect(new Set(started).size).toBe(1);
    const [id] = started;
    if (id === undefined) throw new TypeError('none was started');
    expect(await system.client.ask('orchestrator', 'get', { id })).toMatchObject({
      workflow: 'sample@1',
      requestedBy: 'operator',
    });
    // The id of the task makes the start idempotent, even with another key.
    const chosen = { ...said, id: newTaskId() };
    for (let i = 0; i < 2; i += 1)
      expect((await ask('api/orchestrator/submit', chosen)).body).toMatchObject({ id: chosen.id });
    expect(await ask('api/orchestrator/submit', { ...chosen, goal: 'another' })).toMatchObject({
      status: 409,
      body: { code: 'ORCHESTRATOR_TASK_CONFLICT' },
    });
  });

  test.each<readonly [string, object]>([
    ['a workflow of its own', { definition: { id: 'mine', version: '1', nodes: [] } }],
    ['a program of its own', { program: {} }],
    ['a start without approval', { approval: 'none' }],
    ['the name of a requester', { agent: 'helper' }],
  ])('a page that sends %s starts no task', async (_, more) => {
    const id = newTaskId();
    const said = { id, workflow: 'sample', goal: 'from a page', ...more };
    expect(await ask('api/orchestrator/submit', said)).toMatchObject({
      status: 400,
      body: {
        code: 'CONTRACT_INVALID',
        message: expect.stringContaining(Object.keys(more)[0] ?? '') as string,
      },
    });
    expect(await ask('api/orchestrator/get', { id })).toMatchObject({ status: 404 });
  });

  test('a refusal of another service reaches the page unchanged', async () => {
    expect(await ask('api/orchestrator/get', { id: 't-none' })).toMatchObject({
      status: 404,
      body: { code: 'ORCHESTRATOR_UNKNOWN_TASK' },
    });
    expect(await ask('api/orchestrator/get', { id: 'a b' })).toMatchObject({
      status: 400,
      body: { code: 'CONTRACT_INVALID' },
    });
  });

  test('lists and histories come in pages', async () => {
    const { id } = await submitSample(system.client);
    await waitForPhase(system.client, id, 'awaiting_approval');
    const whole = api.orchestrator.history.response.parse(
      (await ask('api/orchestrator/history', { id })).body,
    );
    const first = api.orchestrator.history.response.parse(
      (await ask('api/orchestrator/history', { id, limit: 2 })).body,
    );
    expect(first).toEqual({ events: whole.events.slice(0, 2), version: whole.events.length, more: true });
    const rest = await ask('api/orchestrator/history', { id, after: 2, limit: 1_000 });
    expect(rest.body).toEqual({ events: whole.events.slice(2), version: whole.events.length, more: false });
  });
});

test('decided requests are listed in pages, newest first', async () => {
  const order = (listed: Answered) =>
    api.approvals.list.response.parse(listed.body).items.map(({ id }) => id);
  for (let i = 0; i < 3; i += 1) {
    const task = await submitSample(system.client);
    await waitForRequest(system.client, task);
    await ask('api/approvals/decide', await asRead({ id: task.approval, decision: 'reject' }));
  }
  const oldest = order(await ask('api/approvals/list', { status: 'rejected', limit: 500 }));
  const newest: string[] = [];
  let after: string | undefined;
  do {
    const page = await ask('api/approvals/list', { status: 'rejected', order: 'newest', limit: 2, after });
    newest.push(...order(page));
    after = api.approvals.list.response.parse(page.body).next;
  } while (after !== undefined);
  expect(newest).toEqual(oldest.toReversed());
  expect(newest.length).toBeGreaterThanOrEqual(3);
  expect(await ask('api/approvals/list', { order: 'newest', after: 'o0.1.a-1' })).toMatchObject({
    status: 400,
    body: { code: 'CONTRACT_INVALID' },
  });
});

describe('the gateway refuses a request', () => {
  test.each([
    'orchestrator/program_register',
    'orchestrator/nothing',
    'executor/resolve',
    'recovery/classify',
  ])('an endpoint that is not for pages is refused: %s', async (path) => {
    expect(await ask(`api/${path}`)).toMatchObject({
      status: 404,
      body: { code: 'CONTRACT_UNKNOWN_SUBJECT' },
    });
  });

  test.each([
    'approvals/__proto__',
    '__proto__/get',
    'constructor/constructor',
    'approvals/dead_letter',
    'nobody/get',
  ])('an unknown path is refused: %s', async (path) => {
    expect(await ask(`api/${path}`)).toMatchObject({
      status: 404,
      body: { code: 'CONTRACT_UNKNOWN_SUBJECT' },
    });
  });

  test('a request without a valid token is refused', async () => {
    const { id } = await submitSample(system.client);
    const anonymous = await ask('api/orchestrator/get', { id }, { token: undefined });
    expect(anonymous).toMatchObject({ status: 401, body: { code: 'APPROVALS_UNAUTHENTICATED' } });
    expect((await ask('api/orchestrator/get', { id }, { token: 'hpt_wrong' })).status).toBe(401);
    const narrow = await tokenFor('tasks:read');
    expect((await ask('api/orchestrator/get', { id }, { token: narrow })).status).toBe(200);
    // The right to steer tasks does not include the right to start them.
    const said = { workflow: 'sample', goal: 'from a page' };
    expect(
      await ask('api/orchestrator/submit', said, { token: await tokenFor('tasks:read', 'tasks:write') }),
    ).toMatchObject({ status: 403, body: { code: 'APPROVALS_SCOPE' } });
    for (const path of [
      'api/orchestrator/cancel',
      'api/orchestrator/submit',
      'api/recovery/circuit',
      'api/approvals/list',
      'api/dlq/drop',
    ])
      expect(await ask(path, { id }, { token: narrow })).toMatchObject({
        status: 403,
        body: { code: 'APPROVALS_SCOPE' },
      });
  });

  test('a command of an agent is refused at the console', async () => {
    const { id } = await submitSample(system.client);
    const token = await tokenOf({
      scopes: ['tasks:read', 'tasks:write', 'tasks:submit', 'operations:write'],
      agent: 'helper',
    });
    expect((await ask('api/orchestrator/get', { id }, { token })).status).toBe(200);
    for (const path of ['api/orchestrator/cancel', 'api/orchestrator/submit', 'api/dlq/drop'])
      expect(await ask(path, { id }, { token })).toMatchObject({
        status: 403,
        body: { code: 'APPROVALS_NOT_ENTITLED' },
      });
  });

  test.each(['https://evil.example', 'null', 'http://127.0.0.1', 'http://localhost.evil'])(
    'a request from a page of %s is refused',
    async (origin) => {
      const answer = await ask('api/orchestrator/list', {}, { headers: { origin } });
      expect(answer).toMatchObject({ status: 403, body: { code: 'APPROVALS_ORIGIN_REFUSED' } });
    },
  );

  test('a body that is too large or is not JSON is refused', async () => {
    expect(await ask('api/orchestrator/list', 'x'.repeat(300_000))).toMatchObject({
      status: 413,
      body: { code: 'CONTRACT_PAYLOAD_TOO_LARGE' },
    });
    expect(await ask('api/orchestrator/list', '{')).toMatchObject({
      status: 400,
      body: { code: 'CONTRACT_NOT_JSON' },
    });
  });
});

describe('task events', () => {
  const open = async (query: string, token = system.client.token): Promise<ReadEvents> =>
    openEvents(`${own()}/console/events${query}`, token);

  const versions = (events: ReadEvents): readonly number[] =>
    events.all('event').map(({ data }) => Number(data['version']));

  test('a watcher receives events from the first one on, without gaps, as they happen', async () => {
    const task = await submitSample(system.client);
    const events = await open(`?task=${task.id}`);
    await waitForRequest(system.client, task);
    await ask('api/approvals/decide', await asRead({ id: task.approval, decision: 'approve' }));
    const { events: history } = await until('the task is completed', async () => {
      const { body } = await ask('api/orchestrator/history', { id: task.id });
      const found = api.orchestrator.history.response.parse(body);
      return found.events.some(({ data }) => data['phase'] === 'completed') ? found : undefined;
    });
    await until('all of it arrives', () => versions(events).length >= history.length || undefined);
    expect(events.all('event').map(({ data }) => ({ ...data, subject: undefined, id: undefined }))).toEqual(
      history,
    );
    events.stop();

    // A reconnect after a known event returns the later events only.
    const third = events.all('event')[2];
    const again = await open(`?task=${task.id}&after=${String(third?.id)}`);
    await until('the rest arrives', () => versions(again).length >= history.length - 3 || undefined);
    expect(versions(again)).toEqual(history.map(({ version }) => version).slice(3));
    again.stop();
  });

  test('a watcher receives from the orchestrator the events that the bus did not deliver', async () => {
    const { id } = await submitSample(system.client);
    await waitForPhase(system.client, id, 'awaiting_approval');
    const events = await open(`?task=${id}`);
    const { version } = await system.client.ask('orchestrator', 'get', { id });
    await until('it has caught up', () => versions(events).length === version || undefined);
    // A sender with the right to publish task events skips versions. The gateway asks for the gap, and
    // there is none.
    const connection = await system.connect('orchestrator');
    await publish(connection, `hp.evt.task.node_paused.${id}`, '{"node":"x"}');
    await ask('api/orchestrator/cancel', { id });
    await until(
      'the end arrives',
      () => events.all('event').some(({ data }) => data['type'] === 'cancelled') || undefined,
    );
    const told = versions(events);
    expect(told).toEqual(told.map((_, i) => i + 1));
    events.stop();
  });

  test('a watcher receives the output from its cursor on, and no malformed line', async () => {
    const { id } = await submitSample(system.client);
    await waitForPhase(system.client, id, 'awaiting_approval');
    const executor = await system.connect('executor');
    const print = (seq: number, line: string) =>
      publish(
        executor,
        `hp.log.${id}.append`,
        JSON.stringify({ attempt: 1, step: 'run', stream: 'stdout', seq, line, at: 1_790_000_000_000 }),
      );
    await print(1, 'first');
    await print(2, '<script>alert(1)</script>\u202e');
    const events = await open(`?task=${id}&log=1`);
    const lines = (from: ReadEvents) => from.all('log').map(({ data }) => data['line']);
    await until('both arrive', () => lines(events).length === 2 || undefined);
    await publish(executor, `hp.log.${id}.append`, 'x'.repeat(900_000));
    await print(3, 'x'.repeat(65_536));
    await print(4, 'last');
    await until('the others arrive', () => lines(events).length === 4 || undefined);
    expect(lines(events)).toEqual(['first', '<script>alert(1)</script>\u202e', 'x'.repeat(65_536), 'last']);
    const seen = events.all('log')[2];
    events.stop();
    const again = await open(`?task=${id}&log=1&after=${String(seen?.id)}`);
    await until('the last one arrives', () => lines(again).length > 0 || undefined);
    expect(lines(again)).toEqual(['last']);
    again.stop();
  });

  test('a watcher of all tasks receives summaries', async () => {
    const events = await open('');
    const { id } = await submitSample(system.client);
    await until(
      'its phase arrives',
      () =>
        events
          .all('event')
          .some(
            ({ data }) =>
              data['id'] === id && (data['data'] as { phase?: string }).phase === 'awaiting_approval',
          ) || undefined,
    );
    expect(JSON.stringify(events.all('event'))).not.toContain('definition');
    events.stop();
    const again = await open('?after=anything');
    expect(again.status).toBe(400);
    const anew = await open('?after=3');
    await until('it receives a reset', () => anew.all('reset')[0]);
    anew.stop();
  });

  test('a stream ends with a reason when its token loses its validity', async () => {
    const secret = await tokenFor('tasks:read');
    const events = await open('', secret);
    const { body } = await ask('api/approvals/token_list', { limit: 500 });
    const { items } = api.approvals.token_list.response.parse(body);
    const latest = items.filter(({ status }) => status === 'active').at(-1);
    await ask('api/approvals/token_revoke', { id: latest?.id });
    const said = await until('it is reported', () => events.all('error')[0]);
    expect(said.data).toMatchObject({ code: 'APPROVALS_UNAUTHENTICATED' });
    await events.ended;
  });

  test.each([
    ['', 'hpt_wrong', 401, 'APPROVALS_UNAUTHENTICATED'],
    ['?task=a.b', undefined, 400, 'CONTRACT_INVALID'],
    ['?task=t-1&after=-1', undefined, 400, 'CONTRACT_INVALID'],
  ])('a stream at %j with the token %s is refused', async (query, token, status, code) => {
    const events = await open(query, token);
    expect([events.status, events.refusal?.code]).toEqual([status, code]);
  });

  test('a stream of an unknown task is refused', async () => {
    const events = await open('?task=t-none');
    const said = await until('it is reported', () => events.all('error')[0]);
    expect(said.data).toMatchObject({ code: 'ORCHESTRATOR_UNKNOWN_TASK' });
    await events.ended;
  });
});

describe('a dead letter', () => {
  type Listed = { readonly items: readonly { readonly id: string; readonly service: string }[] };
  const list = async (): Promise<Listed['items']> =>
    ((await ask('api/dlq/list', { limit: 100 })).body as Listed).items;
  const buriedAfter = async (before: readonly string[]) =>
    until('it is listed', async () => (await list()).find(({ id }) => !before.includes(id)));
  const health = async () =>
    (await callHttp(port, '/console/health', { token: system.client.token })).body as {
      deadLetters?: Readonly<Record<string, number>>;
    };

  test('the service of a dead letter retries it or drops it, and the list no longer shows it', async () => {
    const before = (await list()).map((each) => each.id);
    const id = newTaskId();
    await publish(system.client.connection, 'hp.cmd.task.cancel', JSON.stringify({ id }));
    const first = await buriedAfter(before);
    expect(first).toMatchObject({
      service: 'orchestrator',
      letter: { reason: { code: 'ORCHESTRATOR_UNKNOWN_TASK' } },
    });
    // The cause of the dead letter remains, so it stays.
    expect(await ask('api/dlq/retry', { id: first.id })).toMatchObject({
      status: 404,
      body: { code: 'ORCHESTRATOR_UNKNOWN_TASK' },
    });
    expect((await list()).map((each) => each.id)).toContain(first.id);
    // The task exists by now.
    const inputs = { file: 'sample.txt', line: 'late' };
    await system.client.ask('orchestrator', 'submit', { id, workflow: 'sample', goal: 'come late', inputs });
    expect(await ask('api/dlq/retry', { id: first.id })).toMatchObject({
      status: 200,
      body: { action: 'retry', by: 'operator', id: first.id },
    });
    await waitForPhase(system.client, id, 'cancelled');
    await untilTrue('it is no longer listed', async () =>
      (await list()).every((each) => each.id !== first.id),
    );

    await publish(system.client.connection, 'hp.cmd.task.cancel', '{');
    const second = await buriedAfter([...before, first.id]);
    expect((await ask('api/dlq/drop', { id: second.id })).body).toMatchObject({
      action: 'drop',
      by: 'operator',
    });
    await untilTrue('it is no longer listed', async () =>
      (await list()).every((each) => each.id !== second.id),
    );
    // The command line does not show it either.
    const { out } = await commandLine(system)('dlq', 'list', '--json');
    const shown = (JSON.parse(out) as { readonly items: readonly { readonly id: string }[] }).items;
    expect(shown.map((each) => each.id)).toEqual((await list()).map((each) => each.id));
    // The resolution stays.
    expect((await ask('api/dlq/retry', { id: second.id })).body).toMatchObject({ action: 'drop' });
    const open = (await list()).filter(({ service }) => service === 'orchestrator').length;
    await untilTrue(
      'it is no longer counted',
      async () => (await health()).deadLetters?.['orchestrator'] === open,
    );
  });

  test('a dead letter whose body is truncated or that is unknown is not retried', async () => {
    const before = (await list()).map((each) => each.id);
    await publish(system.client.connection, 'hp.cmd.task.cancel', `"${'x'.repeat(1_100_000)}"`);
    const { id } = await buriedAfter(before);
    expect(await ask('api/dlq/retry', { id })).toMatchObject({
      status: 422,
      body: { code: 'RUNTIME_DEAD_LETTER_TRUNCATED' },
    });
    expect(await ask('api/dlq/retry', { id: 'executor-1000000' })).toMatchObject({
      status: 404,
      body: { code: 'RUNTIME_DEAD_LETTER_UNKNOWN' },
    });
    expect(await ask('api/dlq/drop', { id: 'executor-0' })).toMatchObject({
      status: 400,
      body: { code: 'CONTRACT_INVALID' },
    });
  });
});

describe('the health of the system', () => {
  type Shown = {
    readonly services: readonly { readonly name: string; readonly up: boolean; readonly replicas: number }[];
    readonly streams: readonly { readonly name: string; readonly consumers: readonly object[] }[];
  };
  const look = async (): Promise<Shown> => {
    const { status, body } = await callHttp(port, '/console/health', { token: system.client.token });
    expect(status).toBe(200);
    return body as unknown as Shown;
  };

  test('the health page shows which services answer and how far each consumer is behind', async () => {
    const { services: shown, streams } = await look();
    expect(shown.map(({ name, up, replicas }) => [name, up, replicas])).toEqual(
      SERVICES.map((service) => [service, true, 1]),
    );
    const commands = streams.find(({ name }) => name === 'HP_CMD');
    expect(commands?.consumers).toContainEqual({
      name: 'orchestrator',
      service: 'orchestrator',
      pending: 0,
      ackPending: 0,
      redelivered: 0,
    });
    expect(streams.map(({ name }) => name)).toEqual(['HP_CMD', 'HP_IN', 'HP_EVT', 'HP_WORK', 'HP_LOG']);
    expect((await callHttp(port, '/console/health')).status).toBe(401);
  });

  test('the health page shows a dead service, and requests to it fail with a code', async () => {
    await services.recovery.stop();
    await untilTrue('it is seen', async () =>
      (await look()).services.some(({ name, up, replicas }) => name === 'recovery' && !up && replicas === 0),
    );
    expect(await ask('api/recovery/stuck')).toMatchObject({
      status: 503,
      body: { code: 'RUNTIME_UNAVAILABLE' },
    });
    expect((await look()).services.filter(({ up }) => up).map(({ name }) => name)).toEqual([
      'orchestrator',
      'approvals',
      'executor',
    ]);
  });
});

test('a refusal is no error in the log of the service', async () => {
  expect((await services.approvals.lines()).filter(({ level }) => level >= 50)).toEqual([]);
});
