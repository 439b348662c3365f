import { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { type CancelApproval, RequestApproval } from '@holdpoint/contracts/approval/commands';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { approvalIdOf, effectIdOf } from '@holdpoint/contracts/values/ids';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publish, untilHandled } from '../../kit/bus/consumers.ts';
import { sampleEffect } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import {
  approve,
  type SampleTask,
  submitSample,
  waitForPhase,
  waitForRequest,
} from '../../kit/tasks/tasks.ts';
import { untilTrue } from '../../kit/until.ts';

let system: System;
let services: Awaited<ReturnType<System['startAll']>>;
beforeAll(async () => {
  system = await createSystem();
  services = await system.startAll();
});
afterAll(() => system.stop());

const timersOf = (task: SampleTask): Promise<readonly string[]> =>
  withAdmin(system.database.admin, async (client) => {
    const sql = 'SELECT name FROM orchestrator.timers WHERE aggregate = $1 ORDER BY name';
    return (await client.query<{ name: string }>(sql, [task.id])).rows.map(({ name }) => name);
  });

/** A resend may come before approvals answers its first request. */
const storedStatusOf = (task: SampleTask): Promise<string | undefined> =>
  withAdmin(system.database.admin, async (client) => {
    const sql = 'SELECT status FROM approvals.heads WHERE id = $1';
    return (await client.query<{ status: string }>(sql, [task.approval])).rows[0]?.status;
  });

test('a lost cancellation of an ended task is sent again until it is confirmed', async () => {
  const { client } = system;
  const task = await submitSample(client);
  await waitForRequest(client, task);
  await services.approvals.stop();
  await client.ask('orchestrator', 'cancel', { id: task.id });
  expect(await timersOf(task)).toEqual([`withdraw:append:${task.approval}`]);
  await system.nats.wipe();
  expect(await storedStatusOf(task)).toBe('pending');
  await system.start('approvals');
  await untilTrue('the cancellation is confirmed', async () => (await timersOf(task)).length === 0);
  expect(await storedStatusOf(task)).toBe('cancelled');
  expect((await waitForPhase(client, task.id, 'cancelled')).phase).toBe('cancelled');
});

test('a request that is cancelled before it arrives is answered and put to no approver', async () => {
  const { client } = system;
  const orchestrator = await system.connect('orchestrator');
  const effect = sampleEffect();
  const { task, node } = effect;
  const id = approvalIdOf(task, node, 1);
  const request = RequestApproval.parse({
    id,
    task,
    node,
    revision: 1,
    effectId: effectIdOf(task, node, effect.idempotencyKey),
    effect,
    digest: effectDigest(effect),
    title: 'over before it began',
    requestedBy: 'nobody',
    audience: ['operators'],
    timeoutMs: 60_000,
  });
  const resolved: ApprovalResolved[] = [];
  client.connection.subscribe(subjects.event('approval', 'resolved', id), {
    callback: (_error, msg) => void resolved.push(ApprovalResolved.parse(msg.json())),
  });
  const cancel: CancelApproval = { id, task, node, revision: 1, reason: 'the task has ended' };
  await publish(orchestrator, subjects.approvalCommand('cancel'), JSON.stringify(cancel));
  await untilTrue('the cancellation is answered', () => resolved.length === 1);
  await publish(orchestrator, subjects.approvalCommand('request'), JSON.stringify(request));
  await untilTrue('the request is answered', () => resolved.length === 2);
  expect(resolved).toMatchObject([
    { outcome: 'cancelled', comment: 'the task has ended' },
    { outcome: 'cancelled', comment: 'the task has ended' },
  ]);
  await expect(client.ask('approvals', 'get', { id })).rejects.toMatchObject({ code: 'APPROVALS_UNKNOWN' });
  for (const status of ['pending', 'cancelled'] as const) {
    const { items } = await client.ask('approvals', 'list', { status });
    expect(items.map((item) => item.id)).not.toContain(id);
  }
});

test('an operator’s command that the bus redelivers does not act again', async () => {
  const { client } = system;
  const task = await submitSample(client);
  await waitForRequest(client, task);
  const say = async (verb: 'pause' | 'resume', id: string): Promise<void> => {
    await publish(client.connection, subjects.taskCommand(verb), JSON.stringify({ id: task.id }), { id });
    await untilHandled(client.connection);
  };
  const versionOf = async (): Promise<number> =>
    (await client.ask('orchestrator', 'get', { id: task.id })).version;
  await say('pause', `${task.id} pause`);
  await say('resume', `${task.id} resume`);
  const before = await versionOf();
  await say('pause', `${task.id} pause`);
  expect(await versionOf()).toBe(before);
  await say('pause', `${task.id} another pause`);
  expect(await versionOf()).toBe(before + 1);
  await say('resume', `${task.id} another resume`);
  await approve(client, task);
  expect((await waitForPhase(client, task.id, 'completed')).phase).toBe('completed');
});
