import { execFile } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { api } from '@holdpoint/contracts/catalog/api';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { RunEffect } from '@holdpoint/contracts/effect/commands';
import { HeldEffect } from '@holdpoint/contracts/effect/hold';
import { ClaimAnswer, type RemoteOutcome, signed } from '@holdpoint/contracts/effect/remote';
import { effectIdOf, NodeId } from '@holdpoint/contracts/values/ids';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documentedIn } from '../../e2e/documents/command-lines.ts';
import { type Call, callHttp } from '../../kit/console/web.ts';
import { publish } from '../../kit/bus/consumers.ts';
import { sampleEffect } from '../../kit/effects/orders.ts';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';
import { readSource } from '../../repo/source-tree.ts';

const run = promisify(execFile);
const sha256Of = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

let system: System;
let port: number;
let repository: string;
beforeAll(async () => {
  system = await createSystem();
  const repositories = join(await realpath(system.folder), 'repositories');
  repository = join(repositories, 'app');
  await mkdir(repository, { recursive: true });
  await run('git', ['init', '--quiet', '--initial-branch=main', repository]);
  const operator: TestPrincipal = { name: 'operator', groups: ['operators'], token: system.client.token };
  const approver: TestPrincipal = { name: 'grace', groups: ['operators'], token: 'hpt_grace' };
  const settings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    approvals: { HOLDPOINT_PRINCIPALS_FILE: await writePrincipals(system.folder, [operator, approver]) },
    executor: { HOLDPOINT_REPOSITORIES: repositories },
  };
  const started = await Promise.all(
    SERVICES.map((service) => system.start(service, settings[service] ?? {})),
  );
  port = started[SERVICES.indexOf('approvals')]?.httpPort ?? 0;
});
afterAll(() => system.stop());

const call = (path: string, more: Call = {}) =>
  callHttp(port, `/api/v1${path}`, { token: system.client.token, ...more });
const post = (path: string, body: unknown, more: Call = {}) => call(path, { method: 'POST', body, ...more });

const submit = async (): Promise<string> => {
  const { status, body } = await post('/tasks', { workflow: 'sample', goal: 'Say hello' });
  expect(status).toBe(200);
  return String(body['id']);
};

describe('tasks over HTTP', () => {
  test('a task is submitted as the owner of the token, shown, listed and cancelled', async () => {
    const id = await submit();
    const shown = await call(`/tasks/${id}`);
    expect(api.orchestrator.get.response.parse(shown.body)).toMatchObject({ id, requestedBy: 'operator' });
    const listed = await call('/tasks?limit=5&requestedBy=operator');
    expect(listed.body['items']).toContainEqual(expect.objectContaining({ id }));
    expect(await post(`/tasks/${id}/cancel`, { by: 'grace', reason: 'a mistake' })).toMatchObject({
      status: 200,
      body: { id },
    });
    const { body } = await call(`/tasks/${id}/history`);
    expect(JSON.stringify(body)).toContain('"by":"operator"');
  });

  test('an unchanged task is answered with 304, and a changed one in full', async () => {
    const id = await submit();
    await until(
      `${id} waits`,
      async () => (await call(`/tasks/${id}`)).body['phase'] === 'awaiting_approval',
    );
    const etag = (await call(`/tasks/${id}`)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"\d+"$/);
    const headers = { 'if-none-match': etag };
    expect(await call(`/tasks/${id}`, { headers })).toMatchObject({ status: 304, body: {} });
    await post(`/tasks/${id}/cancel`, {});
    expect((await call(`/tasks/${id}`, { headers })).status).toBe(200);
  });

  test('pause, resume and retry change the phase of a task', async () => {
    const id = await submit();
    const untilPhase = (phase: string) =>
      untilTrue(`${id} is ${phase}`, async () => (await call(`/tasks/${id}`)).body['phase'] === phase);
    await untilPhase('awaiting_approval');
    expect(await post(`/tasks/${id}/pause`, { reason: 'lunch' })).toMatchObject({
      status: 200,
      body: { id },
    });
    await untilPhase('paused');
    expect(await post(`/tasks/${id}/resume`, {})).toMatchObject({ status: 200, body: { id } });
    await untilPhase('awaiting_approval');
    const request = await until('the request can be read', async () => {
      const { body } = await call(`/approvals?task=${id}`);
      return api.approvals.list.response.parse(body).items[0];
    });
    const refused = { decision: 'reject', digest: request.digest };
    const rejected = await post(`/approvals/${request.id}/decisions`, refused, { token: 'hpt_grace' });
    expect(rejected).toMatchObject({ status: 200, body: { status: 'rejected' } });
    await untilPhase('failed');
    expect(await post(`/tasks/${id}/retry`, { node: 'append' })).toMatchObject({
      status: 409,
      body: { code: 'ORCHESTRATOR_ILLEGAL_IN_PHASE' },
    });
    expect(await post(`/tasks/${id}/retry`, { node: 'append', rewind: true })).toMatchObject({ status: 200 });
    await untilPhase('awaiting_approval');
  });

  test('a repeated submission with one idempotency key is one task, and another one with this key a conflict', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const body = { workflow: 'sample', goal: 'Say it once' };
    const first = await post('/tasks', body, { headers });
    expect(await post('/tasks', body, { headers })).toMatchObject({
      status: 200,
      body: { id: first.body['id'] },
    });
    expect(await post('/tasks', { ...body, goal: 'Say another' }, { headers })).toMatchObject({
      status: 409,
      body: { code: 'ORCHESTRATOR_TASK_CONFLICT' },
    });
    const { body: listed } = await call('/tasks?limit=500');
    const { items } = api.orchestrator.list.response.parse(listed);
    expect(items.filter(({ goal }) => goal === body.goal)).toHaveLength(1);
    expect((await post('/tasks', body)).body['id']).not.toBe(first.body['id']);
  });

  test('a client cannot bring its own workflow', async () => {
    const refused = await post('/tasks', {
      workflow: 'own',
      goal: 'x',
      definition: { id: 'own', nodes: [] },
    });
    expect(refused).toMatchObject({ status: 400, body: { code: 'CONTRACT_INVALID' } });
  });

  test('server-sent events continue after the last event that a client has, without a gap', async () => {
    const id = await submit();
    await until(
      `${id} waits`,
      async () => (await call(`/tasks/${id}`)).body['phase'] === 'awaiting_approval',
    );
    /** The ids of events until one of this type. */
    const idsUntil = async (type: string, last?: string): Promise<readonly string[]> => {
      const over = new AbortController();
      const answer = await fetch(`http://127.0.0.1:${String(port)}/api/v1/tasks/${id}/events`, {
        headers: {
          authorization: `Bearer ${system.client.token}`,
          ...(last !== undefined && { 'last-event-id': last }),
        },
        signal: over.signal,
      });
      let text = '';
      for await (const part of answer.body ?? []) {
        text += Buffer.from(part).toString();
        if (text.slice(0, text.lastIndexOf('\n\n')).includes(`"type":"${type}"`)) break;
      }
      over.abort();
      const events = text.slice(0, text.lastIndexOf('\n\n')).split('\n\n');
      const end = events.findIndex((event) => event.includes(`"type":"${type}"`));
      return events.slice(0, end + 1).flatMap((event) => /^id: (.+)$/m.exec(event)?.[1] ?? []);
    };
    const before = await idsUntil('submitted');
    expect(before).toEqual(['1.0']);
    await post(`/tasks/${id}/cancel`, {});
    const all = await idsUntil('cancelled');
    const rest = await idsUntil('cancelled', before.at(-1));
    expect(all).toEqual(all.map((_, place) => `${String(place + 1)}.0`));
    expect([...before, ...rest]).toEqual(all);
  });

  test('the artifacts of a task are listed, and read whole, in a range and only when they changed', async () => {
    const effect: CanonicalEffect = sampleEffect({
      node: NodeId.parse('build'),
      uses: 'cap.env.shell.command.run',
      args: { with: { command: 'seq 1 1000' }, repository, context: {} },
      kind: 'work',
      effectClass: 'idempotent',
      target: 'work',
      idempotencyKey: '1:run',
    });
    const { task } = effect;
    const id = effectIdOf(task, effect.node, effect.idempotencyKey);
    const order = RunEffect.parse({ id, attempt: 1, effect, digest: effectDigest(effect) });
    const orderer = await system.connect('orchestrator');
    await publish(orderer, subjects.effectCommand('run', DEFAULT_POOL), JSON.stringify(order));
    const artifact = await until('the log is stored', async () => {
      const { body } = await call(`/tasks/${task}/artifacts`);
      return api.executor.artifacts.response.parse(body).items.find(({ storedAt }) => storedAt !== undefined);
    });
    const { sha256, bytes } = artifact;
    const read = (headers: Readonly<Record<string, string>> = {}) =>
      fetch(`http://127.0.0.1:${String(port)}/api/v1/artifacts/${sha256}`, {
        headers: { authorization: `Bearer ${system.client.token}`, ...headers },
      });
    const whole = await read();
    const content = Buffer.from(await whole.arrayBuffer());
    expect([whole.status, whole.headers.get('etag'), content.length]).toEqual([200, `"${sha256}"`, bytes]);
    expect(sha256Of(content)).toBe(sha256);
    const part = await read({ range: 'bytes=10-19' });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 10-19/${String(bytes)}`]);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(content.subarray(10, 20));
    const past = await read({ range: `bytes=${String(bytes)}-` });
    expect([past.status, await past.json()]).toMatchObject([416, { code: 'CONTRACT_RANGE_INVALID' }]);
    const unchanged = await read({ 'if-none-match': `"${sha256}"` });
    expect([unchanged.status, await unchanged.text()]).toEqual([304, '']);
  });

  test('server-sent events bring the history of a task and its next events', async () => {
    const id = await submit();
    const over = new AbortController();
    const answer = await fetch(`http://127.0.0.1:${String(port)}/api/v1/tasks/${id}/events`, {
      headers: { authorization: `Bearer ${system.client.token}` },
      signal: over.signal,
    });
    expect(answer.headers.get('content-type')).toContain('text/event-stream');
    let text = '';
    let isCancelled = false;
    for await (const part of answer.body ?? []) {
      text += Buffer.from(part).toString();
      if (!isCancelled && text.includes('"type":"submitted"')) {
        isCancelled = true;
        await post(`/tasks/${id}/cancel`, {});
      }
      if (text.includes('"type":"cancelled"')) break;
    }
    over.abort();
    expect(text).toMatch(/^id: 1\.0$/m);
  });

  test('an error is a problem document with the code of the bus', async () => {
    const missing = await call('/tasks/t-none');
    expect(missing.headers.get('content-type')).toBe('application/problem+json');
    expect(missing).toMatchObject({
      status: 404,
      body: {
        type: 'urn:holdpoint:error:ORCHESTRATOR_UNKNOWN_TASK',
        title: 'Not Found',
        status: 404,
        code: 'ORCHESTRATOR_UNKNOWN_TASK',
        detail: missing.body['message'],
      },
    });
    const stream = await call('/tasks/t-none/events');
    expect(stream).toMatchObject({ status: 404, body: { code: 'ORCHESTRATOR_UNKNOWN_TASK' } });
  });

  test('the document of the API needs no token', async () => {
    expect(await call('/openapi.json', { token: undefined })).toMatchObject({
      status: 200,
      body: { openapi: '3.1.0' },
    });
  });
});

const REFUND = {
  name: 'refund',
  title: 'Refund ${cents} cents of ${charge}',
  effectClass: 'keyed',
  target: 'payments:${charge}',
  input: {
    type: 'object',
    required: ['charge', 'cents'],
    properties: { charge: { type: 'string' }, cents: { type: 'integer', minimum: 1 } },
  },
} as const;

const createClaimant = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { key: privateKey, x: String(publicKey.export({ format: 'jwk' }).x) };
};

const end = (key: KeyObject, x: string, of: { id: string; epoch: number }, result: RemoteOutcome) =>
  post('/claims/ends', signed({ x, ...of, result } as never, key));

describe('effects over HTTP', () => {
  const hold = (key: string, args: object = { charge: 'ch_1', cents: 500 }) =>
    post('/effects', { capability: 'refund', key, args });
  const approve = async (held: HeldEffect): Promise<void> => {
    // Its task names a request before approvals has it.
    const { body } = await until('the request can be read', async () => {
      const read = await call(`/approvals/${String(held.approval)}`);
      return read.status === 200 ? read : undefined;
    });
    const decision = { decision: 'approve', digest: body['digest'], comment: 'as agreed' };
    const decided = await post(`/approvals/${String(held.approval)}/decisions`, decision, {
      token: 'hpt_grace',
    });
    expect(decided).toMatchObject({ status: 200, body: { status: 'approved' } });
  };

  beforeAll(async () => {
    await post('/capabilities', REFUND);
  });

  test('bad requests are refused before approvers see them', async () => {
    expect(await hold('bad:1', { charge: 'ch_1' })).toMatchObject({
      status: 422,
      body: { code: 'APPROVALS_ARGUMENTS_INVALID' },
    });
    const unknown = await post('/effects', { capability: 'unknown', key: 'k', args: {} });
    expect(unknown).toMatchObject({ status: 404, body: { code: 'APPROVALS_UNKNOWN_CAPABILITY' } });
    expect(await call('/effects/t-none')).toMatchObject({
      status: 404,
      body: { code: 'EXECUTOR_UNKNOWN_EFFECT' },
    });
    const task = await submit();
    expect(await call(`/effects/${task}`)).toMatchObject({
      status: 404,
      body: { code: 'EXECUTOR_UNKNOWN_EFFECT' },
    });
  });

  test('a held effect waits for its approver, is claimed by long poll, and ends applied', async () => {
    const { key, x } = createClaimant();
    const first = await hold('refund:ch_1');
    expect(first.status).toBe(201);
    const { id } = HeldEffect.parse(first.body);
    expect(await hold('refund:ch_1')).toMatchObject({ status: 200, body: { id } });
    expect(await hold('refund:ch_1', { charge: 'ch_1', cents: 501 })).toMatchObject({
      status: 409,
      body: { code: 'ORCHESTRATOR_TASK_CONFLICT' },
    });

    const waiting = await until('approvers are asked', async () => {
      const { body } = await call(`/effects/${id}?waitMs=25000&not=requested`);
      const held = HeldEffect.parse(body);
      return held.state === 'waiting' ? held : undefined;
    });
    const claim = crypto.randomUUID().replaceAll('-', '');
    const claiming = post('/claims', {
      claim,
      claimant: 'refunds on a test machine',
      x,
      uses: ['cap.remote.refund'],
      waitMs: 25_000,
    });
    await approve(waiting);
    const { status, body } = await claiming;
    expect({ status, body }).toMatchObject({ status: 200 });
    const [order] = ClaimAnswer.parse(body).items;
    expect(order).toMatchObject({ kind: 'run', order: { effect: { args: { charge: 'ch_1', cents: 500 } } } });

    const final = call(`/effects/${id}?waitMs=25000`);
    const of = { id: order?.order.id ?? '', epoch: order?.epoch ?? 0 };
    expect(await end(key, x, of, { kind: 'applied', outputs: { refund: 're_1' } })).toMatchObject({
      status: 200,
      body: { status: 'recorded' },
    });
    expect((await final).body).toMatchObject({
      id,
      state: 'applied',
      outputs: { refund: 're_1' },
      by: 'grace',
      comment: 'as agreed',
    });
  });

  test('a person answers the request of a task, and tells whether an effect in doubt happened', async () => {
    const asked = async (id: string, state: string) =>
      until(`${id} is ${state}`, async () => {
        const held = HeldEffect.parse((await call(`/effects/${id}`)).body);
        const { items } = api.approvals.list.response.parse((await call(`/approvals?task=${id}`)).body);
        return held.state === state ? items[0]?.digest : undefined;
      });
    await post('/capabilities', { ...REFUND, name: 'opaque_refund', effectClass: 'opaque' });
    const first = await post('/effects', {
      capability: 'opaque_refund',
      key: 'answer:1',
      args: { charge: 'ch_2', cents: 1 },
    });
    const { id } = HeldEffect.parse(first.body);
    const answer = (body: object) => post(`/tasks/${id}/answer`, body, { token: 'hpt_grace' });
    const digest = await asked(id, 'waiting');
    expect(await answer({ answer: 'approve' })).toMatchObject({
      status: 400,
      body: { code: 'CONTRACT_INVALID', message: expect.stringContaining('digest') as string },
    });
    expect(await answer({ answer: 'approve', digest: '0'.repeat(64) })).toMatchObject({
      status: 409,
      body: { code: 'APPROVALS_DIGEST_MISMATCH' },
    });
    expect(await answer({ answer: 'approve', digest })).toMatchObject({ body: { status: 'approved' } });
    const { x } = createClaimant();
    const claim = { claim: crypto.randomUUID(), claimant: 'silent', x, uses: ['cap.remote.opaque_refund'] };
    expect(await post('/claims', { ...claim, waitMs: 25_000, leaseMs: 2_000 })).toMatchObject({
      body: { items: [{ epoch: 1 }] },
    });
    const doubtful = await asked(id, 'in_doubt');
    expect(await answer({ answer: 'applied', digest: doubtful, comment: 'the bank has it' })).toMatchObject({
      status: 200,
      body: { status: 'answered', by: 'grace' },
    });
    expect((await call(`/effects/${id}?waitMs=25000`)).body).toMatchObject({ state: 'applied' });
    expect(await answer({ answer: 'applied', digest })).toMatchObject({
      status: 404,
      body: { code: 'APPROVALS_UNKNOWN' },
    });
  });

  test('an unchanged effect, approval or capability is answered with 304, and a changed one in full', async () => {
    await post('/capabilities', { ...REFUND, name: 'tagged_refund' });
    const first = await post('/effects', {
      capability: 'tagged_refund',
      key: 'tagged:1',
      args: { charge: 'ch_3', cents: 1 },
    });
    const id = String(first.body['id']);
    const approval = await until('the request can be read', async () => {
      const { body } = await call(`/approvals?task=${id}`);
      return api.approvals.list.response.parse(body).items[0]?.id;
    });
    await untilTrue(
      'the effect waits',
      async () => (await call(`/effects/${id}`)).body['state'] === 'waiting',
    );
    const paths = [`/effects/${id}`, `/approvals/${approval}`, '/capabilities/tagged_refund'];
    const tags = new Map<string, string>();
    for (const path of paths) {
      const { headers, body } = await call(path);
      const etag = headers.get('etag') ?? '';
      expect(etag).toBe(`"${sha256Of(JSON.stringify(body))}"`);
      expect(await call(path, { headers: { 'if-none-match': etag } })).toMatchObject({
        status: 304,
        body: {},
      });
      tags.set(path, etag);
    }
    await post(`/effects/${id}/cancel`, {});
    await call('/capabilities/tagged_refund', { method: 'DELETE' });
    for (const path of paths)
      await untilTrue(`${path} has changed`, async () => {
        const headers = { 'if-none-match': tags.get(path) ?? '' };
        return (await call(path, { headers })).status === 200;
      });
    expect(await call('/capabilities/tagged_refund')).toMatchObject({ body: { status: 'withdrawn' } });
    expect(await call('/capabilities/unknown')).toMatchObject({
      status: 404,
      body: { code: 'APPROVALS_UNKNOWN_CAPABILITY' },
    });
  });

  test('a held effect is cancelled before its decision', async () => {
    const { body } = await hold('refund:cancelled');
    const id = String(body['id']);
    expect(await post(`/effects/${id}/cancel`, { reason: 'a mistake' })).toMatchObject({ status: 200 });
    expect((await call(`/effects/${id}?waitMs=25000`)).body).toMatchObject({ id, state: 'cancelled' });
  });

  test('a claimant that goes away ends its wait', async () => {
    await post('/capabilities', { ...REFUND, name: 'unclaimed' });
    const { x } = createClaimant();
    const isWaiting = async (): Promise<boolean> => {
      const { body } = await call('/claimants');
      return api.executor.claimants.response.parse(body).items.some((each) => each.x === x && each.isWaiting);
    };
    const over = new AbortController();
    const gone = fetch(`http://127.0.0.1:${String(port)}/api/v1/claims`, {
      method: 'POST',
      headers: { authorization: `Bearer ${system.client.token}` },
      body: JSON.stringify({
        claim: crypto.randomUUID().replaceAll('-', ''),
        claimant: 'gone',
        x,
        uses: ['cap.remote.unclaimed'],
        waitMs: 25_000,
      }),
      signal: over.signal,
    }).catch(() => 'gone');
    await untilTrue('the claim waits', isWaiting);
    over.abort();
    expect(await gone).toBe('gone');
    await untilTrue('the wait has ended', async () => !(await isWaiting()));
  });

  test('claimants have pages', async () => {
    const names = ['paged 1', 'paged 2', 'paged 3'];
    for (const claimant of names) {
      const { x } = createClaimant();
      const claim = { claim: crypto.randomUUID(), claimant, x, uses: ['cap.remote.refund'] };
      expect(await post('/claims', claim)).toMatchObject({ status: 200, body: { items: [] } });
    }
    const seen: string[] = [];
    let after = '';
    do {
      const { body } = await call(
        `/claimants?limit=2${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`,
      );
      const page = api.executor.claimants.response.parse(body);
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map(({ claimant }) => claimant));
      after = page.next ?? '';
    } while (after !== '');
    expect(seen.filter((name) => name.startsWith('paged'))).toEqual(names);
    expect(seen).toEqual(seen.toSorted());
  });

  test('a claimant comes from the address that approvals sees, not from one that it states', async () => {
    const { x } = createClaimant();
    const claim = { claim: crypto.randomUUID(), claimant: 'elsewhere', x, uses: ['cap.remote.refund'] };
    const stated = { via: 'nats', address: '192.0.2.7' };
    const headers = { 'x-forwarded-for': '192.0.2.7' };
    expect((await post('/claims', { ...claim, from: stated }, { headers })).status).toBe(200);
    const { items } = api.executor.claimants.response.parse((await call('/claimants?limit=500')).body);
    expect(items.find((each) => each.x === x)?.from).toEqual({ via: 'http', address: '127.0.0.1' });
  });

  test('a claim of capabilities of which none is registered is refused at once', async () => {
    const { x } = createClaimant();
    const claim = (...uses: readonly string[]) =>
      post('/claims', { claim: crypto.randomUUID(), claimant: 'mistyped', x, uses });
    const refused = await post('/claims', {
      claim: crypto.randomUUID(),
      claimant: 'mistyped',
      x,
      uses: ['cap.remote.refnud', 'cap.remote.refnud.compensate'],
      waitMs: 25_000,
    });
    expect(refused).toMatchObject({ status: 404, body: { code: 'APPROVALS_UNKNOWN_CAPABILITY' } });
    expect(refused.body['message']).toContain('refnud');
    expect(await claim('cap.remote.refnud', 'cap.remote.refund')).toMatchObject({ status: 200 });
    await post('/capabilities', { ...REFUND, name: 'later_refund' });
    expect(await claim('cap.remote.later_refund.preview')).toMatchObject({ status: 200 });
    await call('/capabilities/later_refund', { method: 'DELETE' });
    expect(await claim('cap.remote.later_refund')).toMatchObject({ status: 200 });
  });

  test('a claim takes a token with the scope', async () => {
    const secret = `hpt_${crypto.randomUUID()}`;
    await post('/tokens', { name: 'reader', sha256: sha256Of(secret), scopes: ['tasks:read'] });
    expect(await post('/claims', {}, { token: secret })).toMatchObject({
      status: 403,
      body: { code: 'APPROVALS_SCOPE' },
    });
  });
});

test('the curl calls of the guide hold an effect and submit a task', async () => {
  const calls = documentedIn('docs/http-api.md', readSource('docs/http-api.md'));
  const values: Record<string, string> = { token: system.client.token };
  const curl = async (words: readonly string[]): Promise<{ readonly id?: string }> => {
    const args = words
      .slice(1)
      .map((word) =>
        word
          .replaceAll('127.0.0.1:8702', `127.0.0.1:${String(port)}`)
          .replaceAll(/<([a-z]+)>/g, (_, name: string) => values[name] ?? name),
      );
    const { stdout } = await run('curl', ['--silent', '--show-error', '--fail-with-body', ...args]);
    return JSON.parse(stdout) as { readonly id?: string };
  };
  const answers: { readonly id?: string }[] = [];
  for (const { words } of calls) {
    const answer = await curl(words);
    answers.push(answer);
    if (words.at(-1)?.includes('/approvals?task=') === true)
      values['digest'] = api.approvals.list.response.parse(answer).items[0]?.digest ?? '';
    if (words.at(-1)?.endsWith('/effects') === true) values['effect'] = answer.id ?? '';
    if (words.at(-1)?.endsWith('/tasks') === true) values['task'] = answer.id ?? '';
  }
  const expectSome: unknown = expect.arrayContaining([expect.objectContaining({ workflow: 'sample@1' })]);
  expect(answers).toMatchObject([
    { name: 'payout' },
    { capability: 'payout', key: 'payout:7' },
    { id: values['effect'] },
    { items: [{ task: values['effect'], status: 'pending' }] },
    { status: 'approved' },
    { id: values['effect'] },
    { id: values['task'] },
    { id: values['task'], workflow: 'sample@1' },
    { items: expectSome },
    { id: values['task'] },
  ]);
});
