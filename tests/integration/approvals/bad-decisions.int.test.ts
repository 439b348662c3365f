import { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { approvalIdOf, effectIdOf } from '@holdpoint/contracts/values/ids';
import { SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { sampleEffect } from '../../kit/effects/orders.ts';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import {
  approve,
  decide,
  type SampleTask,
  submitSample,
  waitForPhase,
  waitForRequest,
} from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

const guest: TestPrincipal = { name: 'guest', groups: ['visitors'], token: 'hpt_guest' };
const second: TestPrincipal = { name: 'second', groups: ['operators'], token: 'hpt_second' };

let system: System;
beforeAll(async () => {
  system = await createSystem();
  const operator = { name: 'operator', groups: ['operators'], token: system.client.token };
  const principals = await writePrincipals(system.folder, [operator, guest, second]);
  await Promise.all(
    SERVICES.map((service) =>
      system.start(service, service === 'approvals' ? { HOLDPOINT_PRINCIPALS_FILE: principals } : {}),
    ),
  );
});
afterAll(() => system.stop());

const DECIDE = subjects.api('approvals', 'decide');

type PendingTask = SampleTask & { readonly digest: string };

const decideAs = (
  task: Pick<PendingTask, 'approval' | 'digest'>,
  token: string | undefined,
  more: object = {},
): Promise<unknown> =>
  system.client.askRaw(
    DECIDE,
    JSON.stringify({ id: task.approval, decision: 'approve', digest: task.digest, ...more }),
    token,
  );

const pendingTask = async (): Promise<PendingTask> => {
  const task = await submitSample(system.client);
  const { digest } = await waitForRequest(system.client, task);
  return { ...task, digest };
};

const statusOf = async ({ approval }: SampleTask): Promise<string> =>
  (await system.client.ask('approvals', 'get', { id: approval })).status;

describe('a decision', () => {
  test('a decision without a digest is refused, and decides nothing', async () => {
    const task = await pendingTask();
    await expect(decideAs(task, system.client.token, { digest: undefined })).rejects.toMatchObject({
      code: 'APPROVALS_DIGEST_REQUIRED',
      status: 400,
    });
    expect(await statusOf(task)).toBe('pending');
  });

  test('a decision on an unknown approval is refused', async () => {
    const refused = system.client.ask('approvals', 'decide', {
      id: 'a-unknown',
      decision: 'approve',
    });
    await expect(refused).rejects.toMatchObject({ code: 'APPROVALS_UNKNOWN', status: 404 });
  });

  test.each([
    ['approve', 'completed', 'approved'],
    ['reject', 'failed', 'rejected'],
    ['request_changes', 'paused', 'changes_requested'],
  ] as const)(
    'after another approver’s decision, %s gets the decision that stands',
    async (decision, phase, status) => {
      const task = await pendingTask();
      await decide(system.client, task, decision);
      await waitForPhase(system.client, task.id, phase);
      const other = decision === 'approve' ? 'reject' : 'approve';
      await expect(decideAs(task, second.token, { decision: other })).rejects.toMatchObject({
        code: 'APPROVALS_ALREADY_DECIDED',
        status: 409,
        body: { details: { status, by: 'operator' } },
      });
      // A repeated vote of the same person gets the decision, because the first answer may be lost.
      expect(await decideAs(task, system.client.token, { decision })).toMatchObject({
        status,
        by: 'operator',
      });
      expect(await statusOf(task)).toBe(status);
    },
  );

  test.each([
    ['without a token', undefined],
    ['with a wrong token', 'hpt_wrong'],
    ['with an empty token', ''],
  ])('a decision %s is refused and decides nothing', async (_how, token) => {
    const task = await pendingTask();
    await expect(decideAs(task, token)).rejects.toMatchObject({
      code: 'APPROVALS_UNAUTHENTICATED',
      status: 401,
    });
    expect(await statusOf(task)).toBe('pending');
  });

  test('a decision by a person without entitlement is refused and decides nothing', async () => {
    const task = await pendingTask();
    await expect(decideAs(task, guest.token)).rejects.toMatchObject({
      code: 'APPROVALS_NOT_ENTITLED',
      status: 403,
    });
    expect(await statusOf(task)).toBe('pending');
  });

  test('a decision on another effect than the one that was shown is refused', async () => {
    const task = await pendingTask();
    const refused = decideAs(task, system.client.token, { digest: '0'.repeat(64) });
    await expect(refused).rejects.toMatchObject({ code: 'APPROVALS_DIGEST_MISMATCH', status: 409 });
    const { digest } = await system.client.ask('approvals', 'get', { id: task.approval });
    expect(await decideAs(task, system.client.token, { digest })).toMatchObject({ status: 'approved' });
  });

  test.each([
    ['with an unknown verb', JSON.stringify({ id: 'a-1', decision: 'perhaps' }), 'CONTRACT_INVALID', 400],
    ['that is not JSON', 'approve', 'CONTRACT_NOT_JSON', 400],
    ['without an id', JSON.stringify({ decision: 'approve' }), 'CONTRACT_INVALID', 400],
  ])('a decision %s is refused', async (_how, body, code, status) => {
    await expect(system.client.askRaw(DECIDE, body, system.client.token)).rejects.toMatchObject({
      code,
      status,
    });
  });

  test('a decision that names another person counts for the holder of the token', async () => {
    const task = await pendingTask();
    expect(await decideAs(task, second.token, { by: 'operator' })).toMatchObject({ by: 'second' });
    await waitForPhase(system.client, task.id, 'completed');
    expect((await system.client.ask('approvals', 'get', { id: task.approval })).decidedBy).toBe('second');
  });

  test('the first of many decisions at once stands, and every caller receives it', async () => {
    const task = await pendingTask();
    const verbs = ['approve', 'reject', 'request_changes', 'approve', 'reject', 'request_changes'] as const;
    const tokens = [system.client.token, second.token];
    const answers = await Promise.allSettled(
      verbs.map((decision, i) => decideAs(task, tokens[i % 2], { decision })),
    );
    const accepted = answers.filter(({ status }) => status === 'fulfilled');
    const refused = answers
      .filter((answer) => answer.status === 'rejected')
      .map(({ reason }) => reason as { code: string; body: object });
    expect(accepted).toHaveLength(1);
    const standing = await statusOf(task);
    for (const { code, body } of refused) {
      expect(code).toBe('APPROVALS_ALREADY_DECIDED');
      expect(body).toMatchObject({ details: { status: standing } });
    }
  });
});

test('a rejection reaches the task as ERR_FORBIDDEN, and no effect runs', async () => {
  const task = await pendingTask();
  await decide(system.client, task, 'reject');
  const { error } = await waitForPhase(system.client, task.id, 'failed');
  expect(error?.code).toBe('ERR_FORBIDDEN');
  expect((await system.client.ask('executor', 'list', { task: task.id })).items).toEqual([]);
  expect((await appliedByKey(system.workspace)).has(task.effect)).toBe(false);
});

describe('the API', () => {
  test.each([
    ['orchestrator', 'get', { id: 't-none' }, 'ORCHESTRATOR_UNKNOWN_TASK', 404],
    ['orchestrator', 'history', { id: 't-none' }, 'ORCHESTRATOR_UNKNOWN_TASK', 404],
    ['orchestrator', 'cancel', { id: 't-none' }, 'ORCHESTRATOR_UNKNOWN_TASK', 404],
    ['orchestrator', 'pause', { id: 't-none' }, 'ORCHESTRATOR_UNKNOWN_TASK', 404],
    ['orchestrator', 'resume', { id: 't-none' }, 'ORCHESTRATOR_UNKNOWN_TASK', 404],
    ['orchestrator', 'retry', { id: 't-none' }, 'ORCHESTRATOR_UNKNOWN_TASK', 404],
    ['orchestrator', 'list', { after: 'nonsense' }, 'CONTRACT_INVALID', 400],
    ['orchestrator', 'list', { limit: 0 }, 'CONTRACT_INVALID', 400],
    ['approvals', 'get', { id: 'a-none' }, 'APPROVALS_UNKNOWN', 404],
    ['approvals', 'list', { status: 'unheard-of' }, 'CONTRACT_INVALID', 400],
    ['executor', 'get', { id: 'e-none' }, 'EXECUTOR_UNKNOWN_EFFECT', 404],
    ['executor', 'list', {}, 'CONTRACT_INVALID', 400],
    ['recovery', 'history', { task: 'a b' }, 'CONTRACT_INVALID', 400],
  ] as const)('the %s endpoint %s answers %j with %s', async (service, endpoint, request, code, status) => {
    const refused = system.client.askRaw(
      subjects.api(service, endpoint),
      JSON.stringify(request),
      system.client.token,
    );
    await expect(refused).rejects.toMatchObject({ code, status });
  });

  test('the API refuses a command that the phase of a task does not allow', async () => {
    const task = await submitSample(system.client);
    await approve(system.client, task);
    await waitForPhase(system.client, task.id, 'completed');
    for (const verb of ['cancel', 'pause', 'resume', 'retry'] as const) {
      const refused = system.client.ask('orchestrator', verb, { id: task.id });
      await expect(refused).rejects.toMatchObject({ code: 'ORCHESTRATOR_ILLEGAL_IN_PHASE', status: 409 });
    }
  });

  test('the API pages through every task', async () => {
    const tasks = await Promise.all(Array.from({ length: 5 }, () => pendingTask()));
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await system.client.ask('orchestrator', 'list', {
        limit: 2,
        ...(after !== undefined && { after }),
      });
      seen.push(...page.items.map(({ id }) => id));
      after = page.next;
    } while (after !== undefined);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(expect.arrayContaining(tasks.map(({ id }) => id)));
  });
});

test('a task that is cancelled at its gate withdraws its request', async () => {
  const task = await pendingTask();
  await system.client.ask('orchestrator', 'cancel', { id: task.id, reason: 'not any more' });
  await untilTrue('the request is cancelled', async () => (await statusOf(task)) === 'cancelled');
  await expect(decideAs(task, system.client.token)).rejects.toMatchObject({
    code: 'APPROVALS_ALREADY_DECIDED',
  });
  expect((await waitForPhase(system.client, task.id, 'cancelled')).phase).toBe('cancelled');
});

test('a request without a decision expires, and a later decision is refused without a grant', async () => {
  const { client } = system;
  const orchestrator = await system.connect('orchestrator');
  const effect = sampleEffect();
  const request = RequestApproval.parse({
    id: approvalIdOf(effect.task, effect.node, 1),
    task: effect.task,
    node: effect.node,
    revision: 1,
    effectId: effectIdOf(effect.task, effect.node, effect.idempotencyKey),
    effect,
    digest: effectDigest(effect),
    title: 'to be decided at once',
    requestedBy: 'nobody',
    audience: ['operators'],
    timeoutMs: 1_000,
  });
  const resolved: ApprovalResolved[] = [];
  client.connection.subscribe(subjects.event('approval', 'resolved', request.id), {
    callback: (_error, msg) => void resolved.push(ApprovalResolved.parse(msg.json())),
  });
  await publish(orchestrator, subjects.approvalCommand('request'), JSON.stringify(request));
  const event = await until('the request expires', () => resolved[0]);
  expect(event).toMatchObject({ outcome: 'expired', id: request.id });
  expect(event.grant).toBeUndefined();
  const { requestedAt, expiresAt } = await client.ask('approvals', 'get', { id: request.id });
  expect(expiresAt - requestedAt).toBe(1_000);
  await expect(
    decideAs({ approval: request.id, digest: request.digest }, client.token),
  ).rejects.toMatchObject({
    code: 'APPROVALS_ALREADY_DECIDED',
    body: { details: { status: 'expired' } },
  });
});
