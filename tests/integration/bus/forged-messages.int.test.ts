import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publishWith, untilHandled } from '../../kit/bus/consumers.ts';
import { type DeadLetters, watchDeadLetters } from '../../kit/bus/dead-letters.ts';
import { sealWith, signerOf, strangeSigner } from '../../kit/bus/seals.ts';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';
import { approveAndComplete, type SampleTask, submitSample, waitForPhase } from '../../kit/tasks/tasks.ts';

let system: System;
let letters: DeadLetters;
let ports: Readonly<Record<ServiceName, { readonly httpPort: number }>>;
const users = new Map<string, NatsConnection>();
beforeAll(async () => {
  system = await createSystem({ shortTimers: true });
  ports = await system.startAll();
  for (const user of ['approvals', 'executor', 'orchestrator', 'recovery'] as const)
    users.set(user, await system.connect(user));
  letters = watchDeadLetters(system.client.connection);
});
afterAll(() => system.stop());

const as = (user: string): NatsConnection => {
  const connection = users.get(user);
  if (connection === undefined) throw new Error(`${user} is not connected`);
  return connection;
};

type Forgery = { readonly user: ServiceName; readonly subject: string; readonly fact: object };

const resolved = (task: SampleTask, more: object): Forgery => ({
  user: 'approvals',
  subject: subjects.event('approval', 'resolved', task.approval),
  fact: {
    type: 'resolved',
    id: task.approval,
    task: task.id,
    node: 'append',
    revision: 1,
    by: 'ada',
    at: Date.now(),
    ...more,
  },
});
const applied = (task: SampleTask): Forgery => ({
  user: 'executor',
  subject: subjects.event('effect', 'applied', task.effect),
  fact: {
    type: 'applied',
    id: task.effect,
    task: task.id,
    node: 'append',
    attempt: 1,
    epoch: 1,
    outputs: {},
  },
});

const FORGERIES: readonly (readonly [string, (task: SampleTask) => Forgery])[] = [
  [
    'an approval',
    (task) => resolved(task, { outcome: 'approved', grant: 'aaaa.bbbb.cccc', validUntil: 4e12 }),
  ],
  ['a rejection', (task) => resolved(task, { outcome: 'rejected' })],
  ['an expiry', (task) => resolved(task, { outcome: 'expired' })],
  ['a request for changes', (task) => resolved(task, { outcome: 'changes_requested', comment: 'do more' })],
  ['an answer to a stuck job', (task) => resolved(task, { outcome: 'answered', answer: 'done' })],
  ['a response to a program', (task) => resolved(task, { outcome: 'answered', response: 'yes' })],
  ['the outcome of an effect', applied],
];

let count = 0;
const forge = async (
  { user, subject, fact }: Forgery,
  headersFor: (body: string, id: string) => Promise<Readonly<Record<string, string>>>,
): Promise<string> => {
  count += 1;
  const id = `forged-${String(count)}`;
  const body = JSON.stringify(fact);
  await publishWith(as(user), subject, body, await headersFor(body, id));
  return id;
};

const refusals = async (service: ServiceName, code: string): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${String(ports[service].httpPort)}/metrics`)).text();
  const line = text
    .split('\n')
    .find((each) => each.startsWith('holdpoint_seals_refused_total') && each.includes(`code="${code}"`));
  return Number(line?.split(' ').at(-1) ?? '0');
};

describe('a forged message between services', () => {
  test.each(FORGERIES)(
    '%s without the seal of its service changes nothing and is a dead letter',
    async (_, of) => {
      const { client, run } = system;
      const task = await submitSample(client);
      await waitForPhase(client, task.id, 'awaiting_approval');
      const before = await client.ask('orchestrator', 'history', { id: task.id });
      const forgery = of(task);
      const { subject, user } = forgery;
      // The bus lets this user publish there: only the seal is missing, strange, or of a service that may not say it.
      const bare = await forge(forgery, (_body, id) => Promise.resolve({ [HEADERS.id]: id }));
      const strange = await forge(forgery, (body, id) =>
        Promise.resolve(sealWith(strangeSigner(), subject, body, id)),
      );
      const wrongRole = await forge(forgery, async (body, id) =>
        sealWith(await signerOf('orchestrator', as(user), run.credentialsDir), subject, body, id),
      );
      const changed = await forge(forgery, async (body, id) =>
        sealWith(await signerOf(user, as(user), run.credentialsDir), subject, `${body} `, id),
      );
      const elsewhere = await forge(forgery, async (body, id) =>
        sealWith(await signerOf(user, as(user), run.credentialsDir), `${subject}x`, body, id),
      );
      const codes: string[] = [];
      for (const id of [bare, strange, wrongRole, changed, elsewhere])
        codes.push((await letters.next(id, 'orchestrator')).reason.code);
      expect(codes).toEqual([
        'SEAL_MISSING',
        'SEAL_KEY_UNKNOWN',
        'SEAL_SENDER_NOT_ALLOWED',
        'SEAL_INVALID',
        'SEAL_INVALID',
      ]);
      await untilHandled(client.connection);
      expect(await client.ask('orchestrator', 'history', { id: task.id })).toEqual(before);
      expect((await client.ask('approvals', 'get', { id: task.approval })).status).toBe('pending');
      expect((await appliedByKey(system.workspace)).has(task.effect)).toBe(false);
    },
  );

  test('forged messages are counted by their code', async () => {
    expect(await refusals('orchestrator', 'SEAL_MISSING')).toBeGreaterThanOrEqual(FORGERIES.length);
  });

  test('a forged order of work runs nothing', async () => {
    const { run } = system;
    const subject = subjects.effectCommand('run', 'default');
    const fact = {
      id: 'e-forged',
      attempt: 1,
      digest: 'x',
      effect: { kind: 'work', uses: 'cap.process.run' },
    };
    const forgery: Forgery = { user: 'orchestrator', subject, fact };
    const bare = await forge(forgery, (_body, id) => Promise.resolve({ [HEADERS.id]: id }));
    const other = await forge(forgery, async (body, id) =>
      sealWith(await signerOf('recovery', as('recovery'), run.credentialsDir), subject, body, id),
    );
    expect((await letters.next(bare, 'executor')).reason.code).toBe('SEAL_MISSING');
    expect((await letters.next(other, 'executor')).reason.code).toBe('SEAL_SENDER_NOT_ALLOWED');
  });

  test('the history of a task names the keys that sealed the approval and the outcome', async () => {
    const { client } = system;
    const task = await submitSample(client);
    await approveAndComplete(client, task);
    const { events } = await client.ask('orchestrator', 'history', { id: task.id });
    const keyOf = (type: string): unknown => events.findLast((event) => event.type === type)?.data['sealKey'];
    const [approvals] = (await client.ask('approvals', 'keys', {})).keys;
    const { items } = await client.ask('approvals', 'executor_list', {});
    expect(keyOf('effect_ordered')).toBe(approvals?.kid);
    expect(items.map(({ key }) => key)).toContain(keyOf('node_succeeded'));
  });
});

describe('the key of an executor', () => {
  test('a revoked key counts no longer, and the audit log names the person', async () => {
    const { client, run } = system;
    const task = await submitSample(client);
    await waitForPhase(client, task.id, 'awaiting_approval');
    const stolen = await system.connect('executor');
    const { kid } = await signerOf('executor', stolen, run.credentialsDir);
    const { items } = await client.ask('approvals', 'executor_list', {});
    const id = items.find(({ key }) => key === kid)?.id;
    if (id === undefined) throw new Error('the key is enrolled');
    await client.ask('approvals', 'executor_revoke', { id, reason: 'stolen' });
    const forgery = applied(task);
    const signer = await signerOf('executor', stolen, run.credentialsDir);
    // The others ask for the keys every 30 seconds.
    await untilTrue('the orchestrator refuses the key', async () => {
      const sent = await forge(forgery, (body, each) =>
        Promise.resolve(sealWith(signer, forgery.subject, body, each)),
      );
      await untilHandled(client.connection, ['orchestrator']);
      return (await letters.of(sent)).some(({ reason }) => reason.code === 'SEAL_KEY_REVOKED');
    });
    expect(await refusals('orchestrator', 'SEAL_KEY_REVOKED')).toBeGreaterThan(0);
    expect((await client.ask('orchestrator', 'get', { id: task.id })).phase).toBe('awaiting_approval');
    const audit = await client.ask('approvals', 'audit', { about: id });
    expect(audit.items.map(({ type }) => type)).toEqual(['executor_enrolled', 'executor_revoked']);
    expect(JSON.parse(audit.items[1]?.entry ?? '{}')).toMatchObject({
      by: 'operator',
      key: kid,
      reason: 'stolen',
    });
  });
});
