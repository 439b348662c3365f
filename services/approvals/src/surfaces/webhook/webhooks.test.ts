import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { callbackIdOf, type EffectId, type TaskId } from '@holdpoint/contracts/values/ids';
import type { CallBack } from '@holdpoint/contracts/webhook/callback';
import { verifyWebhook } from '@holdpoint/contracts/webhook/signature';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { afterEach, expect, test } from 'vitest';
import type { Accept } from '../../aggregates.ts';
import { createWebhooks } from './webhooks.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');

const undo: (() => void)[] = [];
afterEach(() => {
  for (const run of undo.splice(0)) run();
});

type Received = { readonly headers: Record<string, string>; readonly body: string };

/** A receiver with one answer; undefined: none at all. */
const receive = async (status: number | undefined, location?: string) => {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers as Record<string, string>, body });
      if (status !== undefined) response.writeHead(status, { ...(location && { location }) }).end('sesame');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  undo.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, received };
};

const orderTo = (url: string, version = 1): CallBack => {
  const task = 't-1' as TaskId;
  const held = {
    id: task,
    effect: 'e-1' as EffectId,
    capability: 'refund',
    key: 'refund:ch_1',
    state: 'applied',
  } as const;
  return { id: callbackIdOf(task, version), task, callback: { url }, held, at: 1_790_000_000_000 };
};

/** Webhooks to these origins, and a log of their failures. */
const webhooksTo = (...targets: readonly string[]) => {
  const failures: object[] = [];
  const silent = silentLogger();
  const log = Object.assign(Object.create(silent) as typeof silent, {
    child: () => log,
    warn: (fields: object) => void failures.push(fields),
  });
  const webhooks = createWebhooks(
    {
      // Callbacks read nothing.
      pool: undefined as never,
      decider: undefined as never,
      keyring: { signText: (said: Buffer) => sign(null, said, privateKey) } as never,
      log,
    },
    { targets: new Set(targets) },
  );
  undo.push(() => void webhooks.stop());
  const calls: Parameters<Accept>[0][] = [];
  const until = async (isDone: () => boolean): Promise<void> => {
    while (!isDone()) await new Promise<void>((resolve) => setTimeout(resolve, 5));
  };
  return {
    webhooks,
    calls,
    failures,
    until,
    send: (order: CallBack, tries = 1) =>
      webhooks.callBack({ kind: 'send_callback', order, tries }, (message) => void calls.push(message)),
  };
};

test('a callback is sent with its id, and its receiver can verify it', async () => {
  const { origin, received } = await receive(204);
  const { send, calls, until } = webhooksTo(origin);
  const order = orderTo(`${origin}/done?a=b`);
  send(order);
  await until(() => calls.length > 0);
  expect(calls).toEqual([
    { kind: 'callback', aggregate: order.id, message: { kind: 'called_back', tries: 1 } },
  ]);
  const [webhook] = received;
  if (webhook === undefined) throw new Error('nothing arrived');
  expect(webhook.headers['webhook-id']).toBe(order.id);
  expect(verifyWebhook(webhook, [publicKey])).toEqual({
    type: 'effect.applied',
    version: 1,
    timestamp: '2026-09-21T14:13:20.000Z',
    data: order.held,
  });
});

test.each([302, 308, 400, 404, 429, 500])(
  'an answer with %i fails the attempt, and a redirect is not followed',
  async (status) => {
    const other = await receive(200);
    const { origin, received } = await receive(status, `${other.origin}/`);
    const { send, calls, failures, until } = webhooksTo(origin, other.origin);
    send(orderTo(`${origin}/sesame`), 3);
    await until(() => calls.length > 0);
    expect([received.length, other.received.length, failures.length]).toEqual([1, 0, 1]);
    const problem = `the receiver answered ${String(status)}`;
    expect(calls).toMatchObject([{ message: { kind: 'callback_missed', tries: 3, problem } }]);
    expect(JSON.stringify(failures)).not.toContain('sesame');
  },
);

test('a receiver that answers 410 ends its callback', async () => {
  const { origin } = await receive(410);
  const { send, calls, until } = webhooksTo(origin);
  send(orderTo(origin));
  await until(() => calls.length > 0);
  expect(calls).toMatchObject([{ message: { kind: 'callback_gone', problem: 'the receiver answered 410' } }]);
});

test('a callback to an origin that is not listed is not sent', async () => {
  const { origin, received } = await receive(200);
  const listed = await receive(200);
  const { webhooks, send, calls, failures, until } = webhooksTo(listed.origin);
  send(orderTo(`${origin}/sesame`));
  send(orderTo(listed.origin, 2));
  await until(() => calls.length > 1);
  expect(calls).toMatchObject([
    { message: { kind: 'callback_missed', problem: expect.stringContaining(origin) as string } },
    { message: { kind: 'called_back' } },
  ]);
  expect(JSON.stringify(calls)).not.toContain('sesame');
  expect(received).toEqual([]);
  expect(JSON.stringify(failures)).not.toContain('sesame');
  expect(() => webhooks.assertAllowed(`${origin}/x`)).toThrow(/HOLDPOINT_NOTIFY_TARGETS/);
  webhooks.assertAllowed(`${listed.origin}/x`);
});

test('a receiver without an answer delays only its own webhooks', async () => {
  const silent = await receive(undefined);
  const { origin } = await receive(200);
  const { send, calls, until } = webhooksTo(silent.origin, origin);
  for (let version = 1; version <= 10; version += 1) send(orderTo(silent.origin, version));
  await until(() => silent.received.length === 4);
  send(orderTo(origin, 99));
  await until(() => calls.length > 0);
  expect(calls).toMatchObject([{ aggregate: orderTo(origin, 99).id }]);
  expect(silent.received).toHaveLength(4);
});
