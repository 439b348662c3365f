import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { HeldAnswer } from '@holdpoint/contracts/effect/hold';
import {
  connectOverHttp,
  defineEffect,
  type RemoteConnection,
  startClaimant,
  type WebhookEvent,
  webhookVerifier,
} from '@holdpoint/sdk/http';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approvalsPool } from '../../kit/surfaces/inbox.ts';
import { until, untilTrue } from '../../kit/until.ts';

type Received = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string };

/** A receiver that answers by path; left out: 200. */
const startReceiver = async () => {
  const received: Received[] = [];
  const answers = new Map<string, { readonly status: number; readonly location?: string }>();
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { url: path = '', headers } = request;
      received.push({ path, headers, body });
      const { status, location } = answers.get(path) ?? { status: 200 };
      response.writeHead(status, { ...(location !== undefined && { location }) }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    received,
    at: (path: string) => received.filter((each) => each.path === path),
    answers,
    stop: () => void server.close(),
  };
};

let system: System;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let elsewhere: Awaited<ReturnType<typeof startReceiver>>;
let approvals: ServiceInProcess;
let http: RemoteConnection;
let pool: Pool;
let startApprovals: () => Promise<void>;
beforeAll(async () => {
  [system, receiver, elsewhere] = await Promise.all([createSystem(), startReceiver(), startReceiver()]);
  const env = {
    HOLDPOINT_NOTIFY_TARGETS: receiver.origin,
    HOLDPOINT_APPROVAL_WEBHOOK: `${receiver.origin}/approvals`,
    HOLDPOINT_TEST_NOTICE_RETRY_MS: '50',
  };
  startApprovals = async () => {
    approvals = await system.start('approvals', env);
    const url = `http://127.0.0.1:${String(approvals.httpPort)}`;
    http = connectOverHttp({ url, token: system.client.token });
  };
  const others = SERVICES.filter((service) => service !== 'approvals');
  await Promise.all([startApprovals(), ...others.map((service) => system.start(service))]);
  pool = await approvalsPool(system.database);
});
afterAll(async () => {
  receiver.stop();
  elsewhere.stop();
  await pool.end();
  await system.stop();
});

const deploy = defineEffect({
  name: 'deploy',
  title: 'Deploy ${release}',
  input: z.object({ release: z.string() }),
  key: ({ release }) => `deploy:${release}`,
  run: ({ release }) => Promise.resolve({ deployed: release }),
});

const hold = (release: string, path: string) =>
  deploy.hold(http, { release }, { callback: { url: `${receiver.origin}${path}` } });

const decide = async (held: string, decision: 'approve' | 'reject'): Promise<void> => {
  const id = await until('the request is there', async () => (await http.held(held)).approval);
  const { digest } = await until('the request can be read', () =>
    system.client.ask('approvals', 'get', { id }).catch(() => undefined),
  );
  await system.client.ask('approvals', 'decide', { id, decision, digest });
};

const eventsOf = async (webhook: string): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ type: string }>(
    'SELECT type FROM events WHERE aggregate = $1 ORDER BY version',
    [webhook],
  );
  return rows.map(({ type }) => type);
};

const callbackOf = async (id: string) => {
  const answer = await fetch(`http://127.0.0.1:${String(approvals.httpPort)}/api/v1/effects/${id}`, {
    headers: { authorization: `Bearer ${system.client.token}` },
  });
  return HeldAnswer.parse(await answer.json()).callback;
};

const timersOf = (task: string): Promise<readonly string[]> =>
  withAdmin(system.database.admin, async (client) => {
    const sql = 'SELECT name FROM orchestrator.timers WHERE aggregate = $1';
    return (await client.query<{ name: string }>(sql, [task])).rows.map(({ name }) => name);
  });

const idOf = ({ headers }: Received): string => String(headers['webhook-id']);

test('a callback is repeated over a restart until its receiver has it, and its signature is verified', async () => {
  const claimant = startClaimant({ connection: http, effects: [deploy], signals: false });
  onTestFinished(() => claimant.stop());
  await claimant.ready;
  receiver.answers.set('/done', { status: 503 });
  const held = await hold('1.0', '/done');
  await decide(held.id, 'approve');
  expect(await held.wait()).toEqual({ deployed: '1.0' });
  await untilTrue('two attempts have failed', () => receiver.at('/done').length >= 2);
  const problem = 'the receiver answered 503';
  await untilTrue('the effect shows its failed attempts', async () => {
    const [item] = (await callbackOf(held.id))?.items ?? [];
    if ((item?.tries ?? 0) < 2) return false;
    expect(item).toMatchObject({ event: 'effect.applied', state: 'waiting', problem });
    return true;
  });
  await claimant.stop();
  await approvals.stop();
  const before = receiver.at('/done').length;
  receiver.answers.delete('/done');
  await startApprovals();
  await untilTrue('the receiver has the callback', () => receiver.at('/done').length > before);
  const attempts = receiver.at('/done');
  const [id = '', ...others] = new Set(attempts.map(idOf));
  expect(others).toEqual([]);
  await untilTrue(
    'the delivery is recorded',
    async () => (await eventsOf(id)).at(-1) === 'callback_delivered',
  );
  expect([...new Set(await eventsOf(id))]).toEqual([
    'callback_ordered',
    'callback_missed',
    'callback_delivered',
  ]);
  const shown = await callbackOf(held.id);
  expect(shown).toMatchObject({
    origin: receiver.origin,
    items: [{ event: 'effect.applied', state: 'delivered' }],
  });
  expect(shown?.items[0]).not.toHaveProperty('problem');
  const last = attempts.at(-1);
  if (last === undefined) throw new Error('no attempt');
  const event: WebhookEvent = await webhookVerifier(http)(last);
  expect(event).toMatchObject({
    type: 'effect.applied',
    version: 1,
    data: { id: held.id, key: 'deploy:1.0', state: 'applied', by: 'operator', outputs: { deployed: '1.0' } },
  });
  await expect(webhookVerifier(http)({ ...last, body: `${last.body} ` })).rejects.toMatchObject({
    code: 'WEBHOOK_SIGNATURE_INVALID',
  });
  await untilTrue('the orchestrator repeats no order', async () => (await timersOf(held.id)).length === 0);
});

test('a callback to another origin is refused before anything is held, and a redirect is not followed', async () => {
  const url = `${elsewhere.origin}/done`;
  await expect(deploy.hold(http, { release: '2.0' }, { callback: { url } })).rejects.toMatchObject({
    code: 'APPROVALS_CALLBACK_NOT_ALLOWED',
  });
  const { items } = await system.client.ask('orchestrator', 'list', {});
  expect(items.filter(({ goal }) => goal.includes('2.0'))).toEqual([]);
  receiver.answers.set('/moved', { status: 307, location: url });
  const moved = await hold('2.1', '/moved');
  await moved.cancel();
  await untilTrue('two attempts have failed', () => receiver.at('/moved').length >= 2);
  expect(elsewhere.received).toEqual([]);
  receiver.answers.set('/moved', { status: 410 });
  const id = idOf(receiver.at('/moved')[0] ?? { path: '', headers: {}, body: '' });
  await untilTrue('the receiver has refused it', async () =>
    (await eventsOf(id)).includes('callback_failed'),
  );
  expect((await callbackOf(moved.id))?.items).toMatchObject([
    { event: 'effect.cancelled', state: 'failed', problem: 'the receiver answered 410' },
  ]);
});

test('a failing receiver delays no callback to another path, and the end of each effect arrives', async () => {
  receiver.answers.set('/broken', { status: 500 });
  const broken = await hold('3.0', '/broken');
  await broken.cancel('not needed');
  await untilTrue('an attempt has failed', () => receiver.at('/broken').length > 0);
  const other = await hold('3.1', '/works');
  await decide(other.id, 'reject');
  const webhook = await until('the other callback arrives', () => receiver.at('/works')[0]);
  expect(await webhookVerifier(http)(webhook)).toMatchObject({
    type: 'effect.rejected',
    data: { key: 'deploy:3.1' },
  });
  receiver.answers.delete('/broken');
  const last = await until('the first callback arrives', async () => {
    const attempt = receiver.at('/broken').at(-1);
    return attempt !== undefined && (await eventsOf(idOf(attempt))).includes('callback_delivered')
      ? attempt
      : undefined;
  });
  expect(await webhookVerifier(http)(last)).toMatchObject({ type: 'effect.cancelled' });
});

test('each request and its decision are notified to the webhook of approvers, without arguments', async () => {
  const held = await hold('4.0', '/other');
  await decide(held.id, 'reject');
  const { approval } = await held.state();
  const verify = webhookVerifier(http);
  const noticed = async (): Promise<readonly WebhookEvent[]> => {
    const events = await Promise.all(receiver.at('/approvals').map(verify));
    return events.filter(({ data }) => data.id === approval);
  };
  await untilTrue('both notices arrive', async () => (await noticed()).length >= 2);
  const events = await noticed();
  expect(events).toMatchObject([
    {
      type: 'approval.requested',
      data: { title: 'Deploy 4.0', status: 'pending', uses: 'cap.remote.deploy', requestedBy: 'operator' },
    },
    { type: 'approval.resolved', data: { status: 'rejected', decidedBy: 'operator' } },
  ]);
  expect(JSON.stringify(events)).not.toContain('"args"');
});
