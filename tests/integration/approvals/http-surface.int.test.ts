import { createHash } from 'node:crypto';
import { api } from '@holdpoint/contracts/catalog/api';
import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { publishRequest, requestOf } from '../../kit/surfaces/requests.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { submitSample, waitForPhase, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';
import { type Call, callHttp, callRaw } from '../../kit/console/web.ts';

const guest: TestPrincipal = { name: 'guest', groups: ['visitors'], token: 'hpt_guest' };
const PAGE = 'https://approvals.example';

let system: System;
let approvals: ServiceInProcess;
let orchestrator: NatsConnection;
beforeAll(async () => {
  system = await createSystem();
  const operator: TestPrincipal = { name: 'operator', groups: ['operators'], token: system.client.token };
  const principals = await writePrincipals(system.folder, [operator, guest]);
  const settings = { HOLDPOINT_PRINCIPALS_FILE: principals, HOLDPOINT_WEB_ORIGINS: PAGE };
  const started = await Promise.all(
    SERVICES.map((service) => system.start(service, service === 'approvals' ? settings : {})),
  );
  const found = started[SERVICES.indexOf('approvals')];
  if (found === undefined) throw new Error('no approvals service');
  approvals = found;
  orchestrator = await system.connect('orchestrator');
});
afterAll(() => system.stop());

const call = (path: string, more: Call = {}) =>
  callHttp(approvals.httpPort, `/api/v1${path}`, { token: system.client.token, ...more });
const post = (path: string, body: unknown, more: Call = {}) => call(path, { method: 'POST', body, ...more });

const newRequest = async (more: Partial<RequestApproval> = {}): Promise<RequestApproval> => {
  const request = requestOf(more);
  await publishRequest(orchestrator, request);
  await until(`${request.id} is there`, () => system.client.ask('approvals', 'get', { id: request.id }));
  return request;
};

/** A token with few scopes, created over HTTP. */
const tokenFor = async (...scopes: readonly string[]): Promise<string> => {
  const secret = `hpt_${crypto.randomUUID()}`;
  const sha256 = createHash('sha256').update(secret).digest('hex');
  const made = await post('/tokens', { name: 'narrow', sha256, scopes });
  expect(made).toMatchObject({ status: 200, body: { principal: 'operator', scopes } });
  return secret;
};

describe('the HTTP surface', () => {
  test('an approval is listed, shown and decided, and its task continues', async () => {
    const task = await submitSample(system.client);
    await waitForRequest(system.client, task);
    const listed = await call(`/approvals?status=pending&task=${task.id}&limit=5&order=oldest`);
    expect(listed).toMatchObject({ status: 200, body: { items: [{ id: task.approval, task: task.id }] } });
    const { body } = await call(`/approvals/${task.approval}`);
    expect(api.approvals.get.response.parse(body)).toMatchObject({ status: 'pending', id: task.approval });
    const decided = await post(`/approvals/${task.approval}/decisions`, {
      decision: 'approve',
      digest: body['digest'],
      comment: 'good',
    });
    expect(decided).toMatchObject({ status: 200, body: { status: 'approved', by: 'operator' } });
    await waitForPhase(system.client, task.id, 'completed');
    expect((await call(`/approvals/${task.approval}`)).body).toMatchObject({
      status: 'approved',
      surface: 'http',
      comment: 'good',
    });
  });

  test('HTTP and the bus give the same answers', async () => {
    const { id } = await newRequest();
    const { body } = await call(`/approvals/${id}`);
    expect(body).toEqual(await system.client.ask('approvals', 'get', { id }));
  });

  test('a decision is recorded as made in a page when the page says so', async () => {
    const { id, digest } = await newRequest();
    await post(
      `/approvals/${id}/decisions`,
      { decision: 'reject', digest },
      { headers: { 'holdpoint-surface': 'web' } },
    );
    expect((await call(`/approvals/${id}`)).body).toMatchObject({ status: 'rejected', surface: 'web' });
  });

  test('each decision of a bulk request counts by itself', async () => {
    const [first, second] = [await newRequest(), await newRequest()];
    const items = [
      { id: first.id, digest: first.digest },
      { id: 'a-none', digest: second.digest },
      { id: second.id, digest: second.digest },
      { id: second.id },
    ];
    expect(await post('/decisions', { items, decision: 'approve' })).toMatchObject({
      status: 200,
      body: {
        items: [
          { id: first.id, decided: { status: 'approved' } },
          { id: 'a-none', error: { code: 'APPROVALS_UNKNOWN' } },
          { id: second.id, decided: { status: 'approved' } },
          { id: second.id, error: { code: 'APPROVALS_DIGEST_REQUIRED' } },
        ],
      },
    });
  });

  test('a list comes in pages, with several values of one field in one query', async () => {
    const audience = [`pages-${crypto.randomUUID()}`, `pages-${crypto.randomUUID()}`];
    const wanted = await Promise.all(
      [0, 1, 0].map((which) => newRequest({ audience: [audience[which] ?? ''] })),
    );
    const query = audience.map((each) => `audience=${each}`).join('&');
    const seen: string[] = [];
    let next = '';
    do {
      const { body } = await call(`/approvals?${query}&limit=2${next && `&after=${next}`}`);
      const page = api.approvals.list.response.parse(body);
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map(({ id }) => id));
      next = page.next ?? '';
    } while (next !== '');
    expect(seen.toSorted()).toEqual(wanted.map(({ id }) => id as string).toSorted());
  });

  test('a rule is added once per key, listed, dry-run and revoked', async () => {
    const spec = { name: 'by http', match: { kinds: ['notify'], capability: 'cap.notify.slack' } };
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const { status, body } = await post('/rules', spec, { headers });
    expect(status).toBe(200);
    expect((await post('/rules', spec, { headers })).body['id']).toBe(body['id']);
    expect((await post('/rules', spec)).body['id']).not.toBe(body['id']);
    const { items } = api.approvals.rule_list.response.parse((await call('/rules?status=active')).body);
    expect(items.map(({ id }) => id as string)).toContain(body['id']);
    expect(await post('/rules/test', { match: spec.match })).toMatchObject({
      status: 200,
      body: { items: [] },
    });
    const effect = {
      kind: 'notify',
      uses: 'cap.notify.slack',
      target: 'notify:team',
      args: { webhook: '${secret:team}', text: 'done' },
      requestedBy: 'linus',
    };
    expect(await post('/check', effect)).toMatchObject({ status: 200, body: { approved: true } });
    const revoked = await call(`/rules/${String(body['id'])}?reason=over`, { method: 'DELETE' });
    expect(revoked).toMatchObject({ status: 200, body: { status: 'revoked', revokedBy: 'operator' } });
  });

  test('a token is created, listed without its secret, and useless once it is revoked', async () => {
    const secret = await tokenFor('approvals:read');
    const me = await call('/whoami', { token: secret });
    expect(me).toMatchObject({ status: 200, body: { name: 'operator', scopes: ['approvals:read'] } });
    const { body } = await call('/tokens?limit=500');
    const { items } = api.approvals.token_list.response.parse(body);
    const hash = createHash('sha256').update(secret).digest('hex');
    expect(JSON.stringify(body)).not.toContain(hash);
    const id = items.findLast(({ name }) => name === 'narrow')?.id ?? '';
    expect(await call(`/tokens/${id}`, { method: 'DELETE' })).toMatchObject({ body: { status: 'revoked' } });
    expect(await call('/whoami', { token: secret })).toMatchObject({
      status: 401,
      body: { code: 'APPROVALS_UNAUTHENTICATED' },
    });
  });

  test('the audit log and the keys are available over HTTP', async () => {
    await newRequest();
    const { body } = await call('/audit?after=0&limit=3');
    const { items } = api.approvals.audit.response.parse(body);
    expect(items.map(({ seq }) => seq)).toEqual([1, 2, 3].slice(0, items.length));
    expect(items.length).toBeGreaterThan(0);
    expect(api.approvals.keys.response.parse((await call('/keys')).body).keys.length).toBeGreaterThan(0);
  });
});

describe('a refusal', () => {
  const paths = [
    ['GET', '/approvals'],
    ['GET', '/approvals/a-1'],
    ['POST', '/approvals/a-1/decisions'],
    ['POST', '/decisions'],
    ['GET', '/rules'],
    ['POST', '/rules'],
    ['POST', '/rules/test'],
    ['DELETE', '/rules/u-0123456789'],
    ['POST', '/check'],
    ['GET', '/tokens'],
    ['POST', '/tokens'],
    ['DELETE', '/tokens/k-0123456789'],
    ['GET', '/audit'],
    ['GET', '/whoami'],
    ['GET', '/keys'],
  ] as const;
  /** Bodies that pass the validation of their endpoint. */
  const bodies: Readonly<Record<string, unknown>> = {
    '/approvals/a-1/decisions': { decision: 'approve' },
    '/decisions': { items: [{ id: 'a-1' }], decision: 'approve' },
    '/rules': { name: 'x', match: { capability: 'cap.notify.*', kinds: ['notify'] } },
    '/tokens': { name: 'x', sha256: '0'.repeat(64) },
  };

  test.each(paths)('%s %s without a token is refused', async (method, path) => {
    const body = method === 'POST' ? (bodies[path] ?? {}) : undefined;
    const answer = await call(path, { method, token: undefined, body });
    expect(answer).toMatchObject({ status: 401, body: { code: 'APPROVALS_UNAUTHENTICATED' } });
    expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test.each([
    ['audit:read', 'GET', '/approvals'],
    ['approvals:read', 'POST', '/approvals/a-1/decisions'],
    ['approvals:read', 'POST', '/rules'],
    ['approvals:read', 'POST', '/tokens'],
    ['approvals:decide', 'GET', '/audit'],
  ])('a token for %s is refused for %s %s', async (scope, method, path) => {
    const token = await tokenFor(scope);
    const body = method === 'POST' ? bodies[path] : undefined;
    expect(await call(path, { method, token, body })).toMatchObject({
      status: 403,
      body: { code: 'APPROVALS_SCOPE' },
    });
  });

  test('a refusal has the code of the bus and its HTTP status', async () => {
    const { id, digest } = await newRequest();
    const decide = `/approvals/${id}/decisions`;
    const refused = async (more: object, token = system.client.token) => {
      const { status, body } = await post(decide, { decision: 'approve', digest, ...more }, { token });
      return [status, body['code']];
    };
    expect(await refused({}, guest.token)).toEqual([403, 'APPROVALS_NOT_ENTITLED']);
    expect(await refused({ digest: undefined })).toEqual([400, 'APPROVALS_DIGEST_REQUIRED']);
    expect(await refused({ digest: '0'.repeat(64) })).toEqual([409, 'APPROVALS_DIGEST_MISMATCH']);
    expect(await refused({ decision: 'applied' })).toEqual([422, 'APPROVALS_NO_CHOICE']);
    expect(await refused({ decision: 'perhaps' })).toEqual([400, 'CONTRACT_INVALID']);
    expect(await refused({ token: crypto.randomUUID() })).toEqual([403, 'APPROVALS_TOKEN_MISMATCH']);
    expect(await refused({ id: 'a-other' })).toEqual([400, 'CONTRACT_INVALID']);
    expect(await refused({ decision: 'reject' })).toEqual([200, undefined]);
    expect(await refused({})).toEqual([409, 'APPROVALS_ALREADY_DECIDED']);
    const gone = await call('/approvals/a-none');
    expect(gone).toMatchObject({ status: 404, body: { code: 'APPROVALS_UNKNOWN' } });
    const rule = await call('/rules/u-0000000000', { method: 'DELETE' });
    expect(rule).toMatchObject({ status: 404, body: { code: 'APPROVALS_UNKNOWN_RULE' } });
    const token = await call('/tokens/k-0000000000', { method: 'DELETE' });
    expect(token).toMatchObject({ status: 404, body: { code: 'APPROVALS_UNKNOWN_TOKEN' } });
  });

  test.each([
    ['limit=0'],
    ['limit=abc'],
    ['limit='],
    ['limit=1&limit=2'],
    ['statu=pending'],
    ['status=unheard-of'],
    ['after=nonsense'],
    ['__proto__=1'],
  ])('the query %s is refused', async (query) => {
    expect(await call(`/approvals?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'CONTRACT_INVALID' },
    });
  });

  test('a name or a text that is too long is refused', async () => {
    for (const path of [`/approvals/${'a'.repeat(5_000)}`, `/approvals?search=${'x'.repeat(500)}`])
      expect(await call(path)).toMatchObject({ status: 400, body: { code: 'CONTRACT_INVALID' } });
  });

  const deep = '['.repeat(100) + ']'.repeat(100);
  test.each([
    ['is not JSON', 'approve', 400, 'CONTRACT_NOT_JSON'],
    ['is no object', '[1]', 400, 'CONTRACT_INVALID'],
    ['is nested too deeply', `{"decision":"approve","comment":${deep}}`, 400, 'CONTRACT_INVALID'],
    ['has a NUL in it', '{"decision":"approve","comment":"a\\u0000b"}', 400, 'CONTRACT_NOT_JSON'],
    ['is not UTF-8', new Uint8Array([0x22, 0xff, 0xfe, 0x22]), 400, 'CONTRACT_NOT_JSON'],
    ['is empty', '', 400, 'CONTRACT_INVALID'],
    ['is too large', `{"comment":"${'x'.repeat(300_000)}"}`, 413, 'CONTRACT_PAYLOAD_TOO_LARGE'],
  ])('a body that %s is refused and decides nothing', async (_how, body, status, code) => {
    const { id } = await newRequest();
    const answer = await post(`/approvals/${id}/decisions`, body);
    expect(answer).toMatchObject({ status, body: { code } });
    expect(JSON.stringify(answer.body)).not.toMatch(/\.ts:|node_modules|at async/);
    expect((await call(`/approvals/${id}`)).body).toMatchObject({ status: 'pending' });
  });

  test('a body without a length is read up to the limit only', async () => {
    const chunk = `${(65_536).toString(16)}\r\n${'x'.repeat(65_536)}\r\n`;
    const head = [
      'POST /api/v1/decisions HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${system.client.token}`,
      'Transfer-Encoding: chunked',
    ].join('\r\n');
    const answer = await callRaw(approvals.httpPort, `${head}\r\n\r\n${chunk.repeat(6)}`);
    expect(answer).toContain('HTTP/1.1 413');
    expect(answer).toContain('CONTRACT_PAYLOAD_TOO_LARGE');
  });

  test.each([
    ['/approvals/..%2f..%2fetc%2fpasswd', 400],
    ['/approvals/%2e%2e/%2e%2e/metrics', 404],
    ['/approvals/%00', 400],
    ['/approvals/a-1%0d%0aset-cookie:x', 400],
    ['/approvals/%zz', 400],
    ['/approvals/u-0123456789', 400],
    ['/approvals/audit-log', 400],
    ['/approvals/a-1/decisions/more', 404],
    ['/nowhere', 404],
    ['//', 404],
    ['', 404],
  ])('the path %s is refused', async (path, status) => {
    const answer = await call(path);
    expect([answer.status, answer.body['code']]).toEqual([
      status,
      status === 404 ? 'CONTRACT_UNKNOWN_SUBJECT' : 'CONTRACT_INVALID',
    ]);
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  test.each([
    ['a header with a lone line break', 'GET /api/v1/whoami HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n'],
    ['an invalid host', 'GET /api/v1/whoami HTTP/1.1\r\nHost: a b/c\r\nConnection: close\r\n\r\n'],
    [
      'two lengths',
      'POST /api/v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
    ],
    [
      'a length beside chunks',
      'POST /api/v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
  ])('%s is refused, and the next caller gets an answer', async (_what, text) => {
    expect(await callRaw(approvals.httpPort, text)).toMatch(/^HTTP\/1\.1 400 /);
    expect((await call('/whoami')).status).toBe(200);
  });
});

describe('HTTP methods', () => {
  test('HEAD is GET without a body', async () => {
    const answer = await call('/whoami', { method: 'HEAD' });
    expect([answer.status, answer.body]).toEqual([200, {}]);
    expect((await call('/whoami', { method: 'HEAD', token: undefined })).status).toBe(401);
  });

  test('a refused method names the allowed ones', async () => {
    const answer = await call('/approvals', { method: 'DELETE' });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });

  test.each([
    [PAGE, PAGE],
    ['https://approvals.example.evil', null],
    ['https://approvals.exampl', null],
    ['null', null],
  ])('a page of %s gets the CORS answer: %s', async (origin, allowed) => {
    const { id } = await newRequest();
    const headers = { origin, 'access-control-request-method': 'POST' };
    const asking = await call(`/approvals/${id}/decisions`, { method: 'OPTIONS', token: undefined, headers });
    expect(asking.status).toBe(204);
    expect(asking.headers.get('access-control-allow-origin')).toBe(allowed);
    expect(asking.headers.get('access-control-allow-methods')).toBe(allowed && 'POST, OPTIONS');
    const answer = await call('/whoami', { headers: { origin } });
    expect(answer.headers.get('access-control-allow-origin')).toBe(allowed);
    expect(answer.headers.get('vary')).toContain('origin');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

test('a refusal is no error in the log of the service', async () => {
  expect((await approvals.lines()).filter(({ level }) => level >= 50)).toEqual([]);
});
