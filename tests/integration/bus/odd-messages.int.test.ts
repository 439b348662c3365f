import { AGGREGATES, SERVICES, type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import { consumers, DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { createLateAcks } from '@holdpoint/runtime/bus/late-acks';
import { startSource } from '@holdpoint/runtime/bus/source';
import type { Delivery } from '@holdpoint/runtime/engine/intake';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publish, untilHandled } from '../../kit/bus/consumers.ts';
import { type DeadLetters, watchDeadLetters } from '../../kit/bus/dead-letters.ts';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { type Recorded, recordTraffic } from '../../kit/bus/recorded-traffic.ts';
import { recordingLogger } from '../../kit/stack/log-record.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import {
  approve,
  approveAndComplete,
  newTaskId,
  decide,
  sampleTask,
  submitSample,
  waitForPhase,
} from '../../kit/tasks/tasks.ts';
import { untilTrue } from '../../kit/until.ts';

let system: System;
let letters: DeadLetters;
let users: Readonly<Record<ServiceName | 'operator', NatsConnection>>;
beforeAll(async () => {
  system = await createSystem({ almightyMonitor: true });
  await system.startAll();
  letters = watchDeadLetters(system.client.connection);
  const [orchestrator, approvals, executor, recovery] = await Promise.all([
    system.connect('orchestrator'),
    system.connect('approvals'),
    system.connect('executor'),
    system.connect('recovery'),
  ]);
  users = { orchestrator, approvals, executor, recovery, operator: system.client.connection };
});
afterAll(() => system.stop());

/** The bus maps the commands that people publish to subjects of their own. */
const heardOn = (sender: keyof typeof users, subject: string): string =>
  sender === 'operator' ? subject.replace('hp.cmd.', 'hp.in.') : subject;

/** The messages that the consumers of each service read, and their allowed senders. */
const inlets: readonly (readonly [ServiceName, keyof typeof users, string])[] = [
  ['orchestrator', 'operator', subjects.taskCommand('cancel')],
  ['orchestrator', 'recovery', subjects.taskCommand('recover')],
  ['orchestrator', 'approvals', subjects.event('approval', 'resolved', 'a-1')],
  ['orchestrator', 'executor', subjects.event('effect', 'applied', 'e-1')],
  ['approvals', 'executor', subjects.event('effect', 'in_doubt', 'e-2')],
  ['approvals', 'orchestrator', subjects.approvalCommand('request')],
  ['approvals', 'orchestrator', subjects.approvalCommand('cancel')],
  ['executor', 'orchestrator', subjects.effectCommand('run', DEFAULT_POOL)],
  ['executor', 'orchestrator', subjects.effectCommand('cancel', DEFAULT_POOL)],
  ['recovery', 'orchestrator', subjects.recoveryCommand('assess')],
];

test('the table covers the consumers of every service', () => {
  expect(new Set(inlets.map(([service]) => service))).toEqual(
    new Set(consumers.map(({ service }) => service)),
  );
});

describe.each(inlets)('the service %s, for messages of %s on %s', (service, sender, subject) => {
  const bodies: readonly (readonly [string, string | Uint8Array, string])[] = [
    ['a body that is not JSON', 'cancel it', 'CONTRACT_NOT_JSON'],
    ['bytes that are not UTF-8', new Uint8Array([0x22, 0xc3, 0x28, 0x22]), 'CONTRACT_NOT_JSON'],
    ['no body', '', 'CONTRACT_NOT_JSON'],
    ['an empty object', '{}', 'CONTRACT_INVALID'],
    ['a body above 1 MiB', JSON.stringify({ padding: 'x'.repeat(1_048_576) }), 'CONTRACT_PAYLOAD_TOO_LARGE'],
    ['a body nested too deeply', '['.repeat(100_000) + ']'.repeat(100_000), 'CONTRACT_INVALID'],
  ];
  test.each(bodies)('a message with %s becomes a dead letter', async (what, body, code) => {
    const id = `${subject} ${what}`;
    await publish(users[sender], subject, body, { id });
    expect(await letters.next(id, service)).toMatchObject({
      service,
      subject: heardOn(sender, subject),
      reason: { code },
      headers: { 'ce-id': id },
    });
  });
});

test('an event of an unknown type is ignored without a dead letter', async () => {
  const before = (await letters.all()).length;
  for (const service of ['approvals', 'executor'] as const) {
    await publish(
      users[service],
      subjects.event(AGGREGATES[service], 'reconsidered', 'x-1'),
      '{"type":"reconsidered"}',
    );
  }
  await untilHandled(system.client.connection);
  expect((await letters.all()).length).toBe(before);
});

type EventRow = { readonly aggregate: string; readonly type: string };

/** Every event of every service, with its version. */
const allEvents = (): Promise<readonly EventRow[]> =>
  withAdmin(system.database.admin, async (client) => {
    const union = SERVICES.map(
      (service) => `SELECT '${service}' AS service, aggregate, version, type FROM ${service}.events`,
    );
    return (await client.query<EventRow>(`${union.join(' UNION ALL ')} ORDER BY 1, 2, 3`)).rows;
  });

/** The bus user that may publish a message. */
const senderOf = ({ subject }: Recorded): NatsConnection => {
  const [, kind, aggregate, name] = subject.split('.');
  if (kind === 'evt')
    return users[SERVICES.find((service) => AGGREGATES[service] === aggregate) ?? 'orchestrator'];
  if (aggregate === 'task') return name === 'recover' ? users.recovery : users.operator;
  return users.orchestrator;
};

describe('repeated messages', () => {
  const newer = (body: string): string =>
    JSON.stringify({ ...(JSON.parse(body) as object), since2: { deep: [1] } });

  test.each([
    ['as they were', (body: string) => body],
    ['with fields of a newer version', newer],
  ])('all messages %s, repeated backwards under new message ids, change nothing', async (how, change) => {
    const { client, workspace } = system;
    const traffic = await recordTraffic(await system.connect('monitor'));
    const [approved, rejected] = [await submitSample(client), await submitSample(client)];
    await approveAndComplete(client, approved);
    await decide(client, rejected, 'reject');
    await waitForPhase(client, rejected.id, 'failed');

    // The first anchor of the audit log comes by the clock; the next one is minutes away.
    await untilTrue('the audit log has an anchor', async () =>
      (await allEvents()).some(({ type }) => type === 'audit_anchored'),
    );
    await untilHandled(client.connection);
    const events = await allEvents();
    const letterCount = (await letters.all()).length;
    const said = [...traffic.all()];
    expect(said.map(({ subject }) => subject.split('.').slice(0, 4).join('.'))).toEqual(
      expect.arrayContaining([
        'hp.evt.task.completed',
        'hp.evt.task.failed',
        'hp.evt.approval.resolved',
        'hp.cmd.effect.run',
        'hp.evt.effect.applied',
      ]),
    );
    for (const [i, message] of said.toReversed().entries()) {
      const { subject, body } = message;
      await publish(senderOf(message), subject, change(body), { messageId: `${how} ${String(i)}` });
    }
    await untilHandled(client.connection);
    // A repeated order is recorded once; nothing else changes.
    const isNote = ({ type }: { readonly type: string }): boolean => type === 'duplicate_prevented';
    const after = await allEvents();
    expect(after.filter((event) => !isNote(event))).toEqual(events.filter((event) => !isNote(event)));
    const notes = after.filter((event) => isNote(event) && event.aggregate === approved.effect);
    expect(notes).toHaveLength(1);
    expect((await letters.all()).length).toBe(letterCount);
    expect((await appliedByKey(workspace)).get(approved.effect)).toBe(1);
  });

  test('a submission under the same message id is stored once', async () => {
    const { client } = system;
    const task = sampleTask(newTaskId());
    const body = JSON.stringify({ id: task.id, workflow: 'sample', goal: 'once' });
    const first = await publish(client.connection, subjects.taskCommand('submit'), body, {
      messageId: task.id,
    });
    const second = await publish(client.connection, subjects.taskCommand('submit'), body, {
      messageId: task.id,
    });
    expect([first.duplicate, second.duplicate]).toEqual([false, true]);
    await waitForPhase(client, task.id, 'awaiting_approval');
  });

  test('a submission without an id takes its message id', async () => {
    const { client } = system;
    const body = JSON.stringify({ workflow: 'sample', goal: 'known by its message id' });
    for (let i = 0; i < 3; i += 1)
      await publish(client.connection, subjects.taskCommand('submit'), body, { id: 'submission-1' });
    await untilHandled(client.connection);
    const { items } = await client.ask('orchestrator', 'list', { limit: 500 });
    expect(items.filter(({ goal }) => goal === 'known by its message id')).toHaveLength(1);
  });
});

describe('messages out of order', () => {
  test('an outcome before its order is ignored', async () => {
    const { client } = system;
    const task = await submitSample(client);
    await waitForPhase(client, task.id, 'awaiting_approval');
    const fact = {
      type: 'applied',
      id: task.effect,
      task: task.id,
      node: 'append',
      attempt: 1,
      epoch: 1,
      outputs: {},
    };
    await publish(users.executor, subjects.event('effect', 'applied', task.effect), JSON.stringify(fact));
    await untilHandled(client.connection);
    expect((await client.ask('orchestrator', 'get', { id: task.id })).phase).toBe('awaiting_approval');
    await approveAndComplete(client, task);
    expect((await appliedByKey(system.workspace)).get(task.effect)).toBe(1);
  });

  test('outcomes of attempts and effects that are not running change nothing', async () => {
    const { client } = system;
    const task = await submitSample(client);
    await approveAndComplete(client, task);
    const { events } = await client.ask('orchestrator', 'history', { id: task.id });
    const about = { id: task.effect, task: task.id, node: 'append', epoch: 1 };
    const error = { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'late' };
    const late = [
      { type: 'started', ...about, attempt: 1, worker: 'x', order: {} },
      { type: 'failed_clean', ...about, attempt: 1, error },
      { type: 'in_doubt', ...about, attempt: 1, reason: 'late', next: 'person' },
      { type: 'applied', ...about, attempt: 7, outputs: { other: true } },
      { type: 'applied', ...about, id: 'e-other', attempt: 1, outputs: { other: true } },
    ];
    for (const fact of late)
      await publish(users.executor, subjects.event('effect', fact.type, fact.id), JSON.stringify(fact));
    await untilHandled(client.connection);
    expect((await client.ask('orchestrator', 'history', { id: task.id })).events).toEqual(events);
  });

  test('the answer to another question does not answer this one', async () => {
    const { client } = system;
    const task = await submitSample(client);
    await waitForPhase(client, task.id, 'awaiting_approval');
    const fact = {
      type: 'resolved',
      id: task.approval,
      task: task.id,
      node: 'append',
      revision: 2,
      outcome: 'rejected',
      by: 'nobody',
      at: 1,
    };
    await publish(
      users.approvals,
      subjects.event('approval', 'resolved', 'a-2'),
      JSON.stringify({ ...fact, id: 'a-2' }),
    );
    await untilHandled(client.connection);
    expect((await client.ask('orchestrator', 'get', { id: task.id })).phase).toBe('awaiting_approval');
    await approve(client, task);
    await waitForPhase(client, task.id, 'completed');
  });
});

test('a message is taken once despite redeliveries, and again after a negative acknowledgement', async () => {
  const impatient = await createSystem();
  try {
    await impatient.start('orchestrator', { HOLDPOINT_TEST_ACK_WAIT_MS: '1000' });
    const consumer = consumers.find(({ name }) => name === 'recovery');
    if (consumer === undefined) throw new Error('no consumer to read from');
    const taken: Delivery[] = [];
    const { log } = recordingLogger('recovery');
    const source = startSource(
      await impatient.connect('recovery'),
      consumer,
      (delivery) => void taken.push(delivery),
      log,
      createLateAcks(),
    );
    const manager = await jetstreamManager(impatient.client.connection);
    const seen = () => manager.consumers.info(consumer.stream, consumer.name);
    await publish(await impatient.connect('orchestrator'), subjects.recoveryCommand('assess'), '{}', {
      id: 'm-1',
    });
    // The bus makes the third delivery one ack wait after the second.
    await untilTrue(
      'the bus delivers it a third time',
      async () => (await seen()).delivered.consumer_seq >= 3,
    );
    expect(taken).toHaveLength(1);
    taken[0]?.giveBack(1);
    await untilTrue('it is taken again', () => taken.length === 2);
    expect(taken[1]?.deliveries).toBeGreaterThan(3);
    taken[1]?.ack();
    await untilTrue('nothing is left', async () => (await seen()).num_ack_pending === 0);
    expect(taken).toHaveLength(2);
    await source.stop();
  } finally {
    await impatient.stop();
  }
});
