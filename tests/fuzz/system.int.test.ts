import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ErrorBody, ERRORS } from '@holdpoint/contracts/values/errors';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import type { SealSigner } from '@holdpoint/runtime/engine/seals';
import type { MsgHdrs, NatsConnection } from '@nats-io/transport-node';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publish, untilHandled } from '../kit/bus/consumers.ts';
import { type DeadLetters, watchDeadLetters } from '../kit/bus/dead-letters.ts';
import { sealWith, signerOf } from '../kit/bus/seals.ts';
import type { ServiceInProcess } from '../kit/stack/in-process.ts';
import type { LogLine } from '../kit/stack/log-record.ts';
import { createSystem, type System } from '../kit/stack/system.ts';
import { approveAndComplete, type SampleTask, submitSample, waitForPhase } from '../kit/tasks/tasks.ts';
import { until, untilTrue } from '../kit/until.ts';
import { ENDPOINTS } from './endpoints.ts';
import { bodyFor } from './hostile/body.ts';
import { sometimesLinked, validMessage } from './messages.ts';
import { readFuzzSettings } from './settings.ts';
import { type Bytes, bytesOf } from './text.ts';

const { seed, times } = readFuzzSettings(process.env);
const REQUESTS = 40 * times;
const MESSAGES = 30 * times;
const AT_ONCE = 16;

let system: System;
let services: Readonly<Record<ServiceName, ServiceInProcess>>;
let letters: DeadLetters;
let known: SampleTask;
const broken: unknown[] = [];
const note = (error: unknown): void => void broken.push(error);

beforeAll(async () => {
  process.on('uncaughtExceptionMonitor', note);
  system = await createSystem();
  services = await system.startAll();
  letters = watchDeadLetters(system.client.connection);
  known = await submitSample(system.client);
  await waitForPhase(system.client, known.id, 'awaiting_approval');
});
afterAll(async () => {
  await system.stop();
  process.off('uncaughtExceptionMonitor', note);
});

/** Headers as raw bytes: a client library would refuse them. */
const HEADERS = [
  '',
  'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n',
  `traceparent: ${'t'.repeat(100_000)}\r\n`,
  `ce-id: ${'i'.repeat(10_000)}\r\n`,
  'ce-id: \u001b[2J\r\nce-id: again\r\n',
  'authorization: Bearer \r\nauthorization: x\r\n',
  '__proto__: x\r\nconstructor: y\r\n',
  'x\r\n',
];
/** Bytes that the client refuses to read and PostgreSQL cannot store. */
const UNREADABLE = ['traceparent: a\nb\r\n', 'traceparent: a\0b\r\n', 'ce-id: a\rb\r\n'];
const headersOf = (text: string): MsgHdrs =>
  ({ encode: () => Buffer.from(`NATS/1.0\r\n${text}\r\n`) }) as unknown as MsgHdrs;

/** Links a value to existing objects, so that it passes the first check. */
const about = (value: object): object => {
  const { id: task, approval, effect } = known;
  const ids: Readonly<Record<string, string>> = { task, node: 'append', effectId: effect };
  const own = 'decision' in value || 'audience' in value ? approval : 'digest' in value ? effect : task;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, key === 'id' ? own : (ids[key] ?? (inner as unknown))]),
  );
};

type Sent = { readonly body: Bytes; readonly headers: string };
const made = (message: string, count: number, headers: readonly string[]): readonly Sent[] =>
  fc.sample(
    fc.record({
      body: bodyFor(sometimesLinked(validMessage(message), about)),
      headers: fc.constantFrom(...headers),
    }),
    { seed, numRuns: count },
  );

/** Limited concurrency: a flood would only measure the machine. */
const each = async <Item>(items: readonly Item[], act: (item: Item) => Promise<void>): Promise<void> => {
  const left = [...items];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item);
    }),
  );
};

/** The answer to a request: `ok` or a code. Throws without an answer. */
const answerTo = async (endpoint: string, { body, headers }: Sent): Promise<string> => {
  const reply = await system.client.connection.request(`hp.api.${endpoint}`, bytesOf(body), {
    timeout: 30_000,
    headers: headersOf(headers),
  });
  if (!reply.headers?.get('Nats-Service-Error-Code'))
    return reply.json<unknown>() === undefined ? 'nothing' : 'ok';
  return ErrorBody.parse(reply.json()).code;
};

const INLETS: readonly (readonly [user: ServiceName | 'operator', subject: string, message: string])[] = [
  ['operator', 'hp.cmd.task.submit', 'command/task.submit'],
  ['operator', 'hp.cmd.task.cancel', 'command/task.cancel'],
  ['operator', 'hp.cmd.task.pause', 'command/task.pause'],
  ['operator', 'hp.cmd.task.resume', 'command/task.resume'],
  ['operator', 'hp.cmd.task.retry', 'command/task.retry'],
  ['operator', 'hp.cmd.task.skip', 'command/task.skip'],
  ['operator', 'hp.cmd.task.done', 'command/task.done'],
  ['operator', 'hp.cmd.task.checkpoint', 'command/task.checkpoint'],
  ['operator', 'hp.cmd.task.record_review', 'command/task.record_review'],
  ['orchestrator', 'hp.cmd.task.watch', 'command/task.watch'],
  ['orchestrator', 'hp.cmd.task.notify', 'command/task.notify'],
  ['orchestrator', 'hp.cmd.task.registry', 'command/task.registry'],
  ['approvals', 'hp.cmd.task.callback_taken', 'command/task.callback_taken'],
  ['recovery', 'hp.cmd.task.recover', 'command/task.recover'],
  ['recovery', 'hp.cmd.task.circuit_state', 'command/task.circuit_state'],
  ['orchestrator', 'hp.cmd.approval.request', 'command/approval.request'],
  ['orchestrator', 'hp.cmd.approval.cancel', 'command/approval.cancel'],
  ['orchestrator', 'hp.cmd.approval.call_back', 'command/approval.call_back'],
  ['orchestrator', `hp.cmd.effect.run.${DEFAULT_POOL}`, 'command/effect.run'],
  ['orchestrator', `hp.cmd.effect.cancel.${DEFAULT_POOL}`, 'command/effect.cancel'],
  ['orchestrator', 'hp.cmd.recovery.assess', 'command/recovery.assess'],
  ['orchestrator', 'hp.cmd.recovery.record_attempt', 'command/recovery.record_attempt'],
  ['orchestrator', 'hp.cmd.recovery.job_unstuck', 'command/recovery.job_unstuck'],
  ['orchestrator', 'hp.cmd.recovery.circuit_acquire', 'command/recovery.circuit_acquire'],
  ['recovery', 'hp.cmd.recovery.circuit_record_failure', 'command/recovery.circuit_record_failure'],
  ['executor', 'hp.cmd.recovery.circuit_report', 'command/recovery.circuit_report'],
  ['approvals', 'hp.evt.approval.resolved.a-1', 'event/approval.resolved'],
  ['executor', 'hp.evt.effect.applied.e-1', 'event/effect.applied'],
  ['executor', 'hp.evt.effect.refused.e-1', 'event/effect.refused'],
  ['executor', 'hp.evt.effect.deferred.e-1', 'event/effect.deferred'],
];

setFlagsFromString('--expose-gc');
const heapAfterCollection = (): number => {
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
};
/** Far above the growth of caches, far below the sent volume. */
const GROWTH_MAX = 200 * 1024 * 1024;

/** Rows that are committed and not confirmed. */
const outboxRows = (): Promise<number> =>
  withAdmin(system.database.admin, async (client) => {
    const union = SERVICES.map((service) => `SELECT count(*)::int AS n FROM ${service}.outbox`).join(
      ' UNION ALL ',
    );
    const { rows } = await client.query<{ n: number }>(union);
    return rows.reduce((sum, { n }) => sum + n, 0);
  });

const ERROR_LEVEL = 50;
/** Log lines that need attention. */
const complaints = async (): Promise<readonly LogLine[]> => {
  const all = await Promise.all(Object.values(services).map(({ lines }) => lines()));
  return all.flat().filter(({ level }) => level >= ERROR_LEVEL);
};

/** Codes that state a fault of the service, not of the client. */
const OURS: readonly string[] = ['RUNTIME_POISON', 'RUNTIME_UNAVAILABLE'];

test(`requests and messages of any kind break nothing (seed ${String(seed)})`, async () => {
  const before = heapAfterCollection();
  const codes = new Map<string, number>();
  const requests = ENDPOINTS.flatMap((endpoint) =>
    made(`api/${endpoint}.request`, REQUESTS, [...HEADERS, ...UNREADABLE]).map((sent) => ({
      endpoint,
      sent,
    })),
  );
  await each(requests, async ({ endpoint, sent }) => {
    const code = await answerTo(endpoint, sent);
    codes.set(code, (codes.get(code) ?? 0) + 1);
    expect([...Object.keys(ERRORS), 'ok']).toContain(code);
    if (!OURS.includes(code)) return;
    const said = JSON.stringify([sent, (await complaints()).at(-1)]).slice(0, 4_000);
    throw new Error(`${code} from ${endpoint}: ${said}`);
  });
  expect([...codes.keys()]).toEqual(expect.arrayContaining(['ok', 'CONTRACT_INVALID', 'CONTRACT_NOT_JSON']));

  const connections = new Map<string, NatsConnection>([['operator', system.client.connection]]);
  const signers = new Map<string, SealSigner>();
  for (const service of SERVICES) {
    const connection = await system.connect(service);
    connections.set(service, connection);
    signers.set(service, await signerOf(service, connection, system.run.credentialsDir));
  }
  const messages = INLETS.flatMap(([user, subject, message]) =>
    made(message, MESSAGES, [...HEADERS, ...UNREADABLE]).map((sent, index) => ({
      connection: connections.get(user),
      // Unsealed messages are refused before they are read.
      signer: index % 5 === 0 ? undefined : signers.get(user),
      subject,
      sent,
    })),
  );
  await each(messages, async ({ connection, signer, subject, sent: { body, headers } }) => {
    const data = bytesOf(body);
    const proof = Object.entries(signer === undefined ? {} : sealWith(signer, subject, data));
    const text = [headers, ...proof.map(([name, value]) => `${name}: ${value}\r\n`)].join('');
    connection?.publish(subject, data, { headers: headersOf(text) });
    await connection?.flush();
  });
  await untilHandled(system.client.connection);
  expect((await letters.all()).filter(({ reason }) => OURS.includes(reason.code))).toEqual([]);
  expect((await letters.all()).length).toBeGreaterThan(MESSAGES);
  // The executor reads messages of services alone: those with a seal are decoded.
  const codesOfOrders = (await letters.all()).flatMap(({ service, reason }) =>
    service === 'executor' ? [reason.code] : [],
  );
  expect(codesOfOrders).toEqual(
    expect.arrayContaining(['SEAL_MISSING', 'SEAL_INVALID', 'CONTRACT_INVALID', 'CONTRACT_NOT_JSON']),
  );

  // Every committed message can be sent.
  await untilTrue('everything is published', async () => (await outboxRows()) === 0, 30_000);
  for (const { httpPort } of Object.values(services))
    expect((await fetch(`http://127.0.0.1:${String(httpPort)}/readyz`)).status).toBe(200);
  expect(await complaints()).toEqual([]);
  expect(broken).toEqual([]);
  await approveAndComplete(system.client, await submitSample(system.client));
  await until('lists have an answer', () => system.client.ask('approvals', 'list', { limit: 500 }));
  expect(heapAfterCollection() - before).toBeLessThan(GROWTH_MAX);
});

test('a message without a consumer is published', async () => {
  await publish(system.client.connection, 'hp.cmd.task.submit', '', { id: 'last' });
  expect((await letters.next('last')).reason.code).toBe('CONTRACT_NOT_JSON');
});
