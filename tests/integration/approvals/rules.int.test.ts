import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { approvalIdOf, effectIdOf, RuleId } from '@holdpoint/contracts/values/ids';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { sampleEffect } from '../../kit/effects/orders.ts';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { publishRequest, requestOf } from '../../kit/surfaces/requests.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approve, submitSample, waitForPhase, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

const guest: TestPrincipal = { name: 'guest', groups: ['guests'], token: 'guest-token' };
const second: TestPrincipal = { name: 'second', groups: ['operators'], token: 'second-token' };

let system: System;
let orchestrator: NatsConnection;
let approvals: ServiceInProcess | undefined;
let approvalsEnv: Readonly<Record<string, string>>;
beforeAll(async () => {
  system = await createSystem();
  orchestrator = await system.connect('orchestrator');
  const operator: TestPrincipal = { name: 'operator', groups: ['operators'], token: system.client.token };
  const principals = await writePrincipals(system.folder, [operator, guest, second]);
  approvalsEnv = { HOLDPOINT_PRINCIPALS_FILE: principals, HOLDPOINT_ADMINISTRATORS: 'user:operator' };
  const started = await Promise.all(
    SERVICES.map((service) => system.start(service, service === 'approvals' ? approvalsEnv : {})),
  );
  approvals = started[SERVICES.indexOf('approvals')];
});
afterAll(() => system.stop());

const specFor = (file: string, more: Partial<RuleSpec> = {}): RuleSpec => ({
  name: `writes to ${file}`,
  match: { kinds: ['write_external'], capability: 'cap.file.append', target: `file:${file}` },
  ...more,
});

const add = (spec: RuleSpec, token?: string) => system.client.ask('approvals', 'rule_add', spec, token);
const ruleOf = async (id: string) => {
  const { items } = await system.client.ask('approvals', 'rule_list', {});
  return items.find((rule) => rule.id === id);
};
const viewOf = (approval: Parameters<typeof waitForRequest>[1]['approval']) =>
  system.client.ask('approvals', 'get', { id: approval });

const WORKTREE = '.holdpoint/worktrees/work-t-1-prepare';
const rollback = (change: Partial<CanonicalEffect> = {}): CanonicalEffect =>
  sampleEffect({
    uses: 'cap.env.builtin.git.rollback',
    kind: 'destructive_edit',
    effectClass: 'fenced',
    args: { with: { isolated: true, worktree: WORKTREE }, context: { worktree: WORKTREE } },
    target: `worktree:${WORKTREE}`,
    idempotencyKey: 'rollback',
    ...change,
  });
const shared = { args: { with: { isolated: false, worktree: '.' }, context: {} }, target: 'checkout:' };

/** A rollback request without a submitted task, once the service has it. */
const askRollback = async (
  change: Partial<CanonicalEffect> = {},
  more: Partial<RequestApproval> = {},
): Promise<RequestApproval['id']> => {
  const effect = rollback(change);
  const { task, node, idempotencyKey } = effect;
  const request = requestOf({
    id: approvalIdOf(task, node, 1),
    task,
    node,
    effect,
    effectId: effectIdOf(task, node, idempotencyKey),
    digest: effectDigest(effect),
    rollbackOf: { task, node, attempt: 1, worktree: WORKTREE },
    ...more,
  });
  await publishRequest(orchestrator, request);
  await until(`${request.id} is there`, () => viewOf(request.id));
  return request.id;
};
const untilApproved = (id: RequestApproval['id']): Promise<true> =>
  untilTrue(`${id} is approved`, async () => (await viewOf(id)).status === 'approved');

describe('the built-in rule', () => {
  const ID = RuleId.parse('u-rollbackwt');

  test('the built-in rule approves a rollback in the isolated worktree of a task and is named in the decision', async () => {
    const id = await askRollback();
    await untilApproved(id);
    expect(await viewOf(id)).toMatchObject({
      rule: ID,
      surface: 'rule',
      decidedBy: `rule ${ID} of holdpoint`,
    });
    const { items } = await system.client.ask('approvals', 'audit', { about: id });
    const resolved = items.find(({ type }) => type === 'resolved');
    expect(JSON.parse(resolved?.entry ?? '{}')).toMatchObject({
      rule: ID,
      outcome: 'approved',
      surface: 'rule',
    });
    const used = await system.client.ask('approvals', 'audit', { about: ID });
    expect(used.items.map(({ type }) => type)).toEqual(['rule_added', 'rule_used']);
  });

  test('the built-in rule leaves shared checkouts and quorums to people', async () => {
    const requests = [
      await askRollback(shared),
      await askRollback({}, { policy: { quorum: 2 } }),
      // Somebody asked for it, no verdict did.
      await askRollback({}, { rollbackOf: undefined }),
    ];
    // The rule decides in order: it has skipped these requests once it has approved a later one.
    await untilApproved(await askRollback());
    for (const id of requests) expect(await viewOf(id)).toMatchObject({ status: 'pending' });
  });

  test('the built-in rule is listed first, with its number of uses', async () => {
    const { items, next } = await system.client.ask('approvals', 'rule_list', { limit: 1 });
    expect(items).toMatchObject([
      { id: ID, name: 'rollback-in-worktree', author: 'holdpoint', status: 'active' },
    ]);
    expect(items[0]?.uses).toBeGreaterThanOrEqual(1);
    await add(specFor('behind.txt'));
    const rest = await system.client.ask('approvals', 'rule_list', { after: next ?? '0.none' });
    expect(rest.items.map(({ id }) => id as string)).not.toContain(ID);
    expect(rest.items.length).toBeGreaterThan(0);
    const { items: ended } = await system.client.ask('approvals', 'rule_list', { status: 'ended' });
    expect(ended.map(({ id }) => id as string)).not.toContain(ID);
  });

  test('the dry run of a rule leaves out the built-in rule: only the orchestrator orders such rollbacks', async () => {
    const { uses, args, target } = rollback();
    const asked = { kind: 'destructive_edit', uses, args, target, requestedBy: 'linus' } as const;
    expect(await system.client.ask('approvals', 'check', asked)).toEqual({ approved: false });
  });

  test('a revocation of the built-in rule is refused with the setting that disables it', async () => {
    await expect(system.client.ask('approvals', 'rule_revoke', { id: ID })).rejects.toMatchObject({
      code: 'APPROVALS_RULE_REFUSED',
      body: { message: expect.stringContaining('HOLDPOINT_ROLLBACK_RULE=off') as unknown },
    });
  });
});

describe('a standing rule', () => {
  test('a standing rule approves matching requests, counts them, and is named in their decisions', async () => {
    const rule = await add(specFor('ruled.txt'));
    const task = await submitSample(system.client, 'ruled.txt');
    await waitForPhase(system.client, task.id, 'completed');
    expect(await viewOf(task.approval)).toMatchObject({
      status: 'approved',
      rule: rule.id,
      surface: 'rule',
      decidedBy: `rule ${rule.id} of operator`,
    });
    expect(await ruleOf(rule.id)).toMatchObject({ status: 'active', uses: 1, author: 'operator' });
  });

  test('a standing rule ignores requests that do not match', async () => {
    await add(specFor('elsewhere.txt'));
    const task = await submitSample(system.client, 'by-hand.txt');
    await waitForRequest(system.client, task);
    await approve(system.client, task);
    await waitForPhase(system.client, task.id, 'completed');
    expect(await viewOf(task.approval)).toMatchObject({ status: 'approved', decidedBy: 'operator' });
  });

  test('a standing rule decides up to its limit, however many requests arrive at once', async () => {
    const rule = await add(specFor('thrice.txt', { usesMax: 3 }));
    const tasks = await Promise.all(
      Array.from({ length: 8 }, () => submitSample(system.client, 'thrice.txt')),
    );
    await untilTrue('the rule is used up', async () => (await ruleOf(rule.id))?.status === 'ended');
    await untilTrue('three are decided', async () => {
      const views = await Promise.all(tasks.map(({ approval }) => viewOf(approval)));
      return views.filter(({ status }) => status === 'approved').length === 3;
    });
    expect(await ruleOf(rule.id)).toMatchObject({ uses: 3, status: 'ended' });
    const waiting = (await Promise.all(tasks.map(({ approval }) => viewOf(approval)))).filter(
      ({ status }) => status === 'pending',
    );
    expect(waiting).toHaveLength(5);
    for (const { id } of waiting) await system.client.ask('approvals', 'decide', { id, decision: 'reject' });
  });

  test('a rule of an author without entitlement decides nothing', async () => {
    await add(specFor('guests.txt'), guest.token);
    const task = await submitSample(system.client, 'guests.txt');
    await waitForRequest(system.client, task);
    const asked = { kind: 'write_external', uses: 'cap.file.append', target: 'file:guests.txt' } as const;
    const check = { ...asked, args: {}, requestedBy: 'linus', audience: ['operators'] };
    expect(await system.client.ask('approvals', 'check', check)).toEqual({ approved: false });
    expect(await viewOf(task.approval)).toMatchObject({ status: 'pending' });
    await approve(system.client, task);
  });

  test('a revoked rule decides nothing, and only its author or an administrator revokes it', async () => {
    const rule = await add(specFor('revoked.txt'), second.token);
    await expect(
      system.client.ask('approvals', 'rule_revoke', { id: rule.id }, guest.token),
    ).rejects.toMatchObject({ code: 'APPROVALS_NOT_ENTITLED' });
    const revoked = await system.client.ask('approvals', 'rule_revoke', { id: rule.id, reason: 'over' });
    expect(revoked).toMatchObject({ status: 'revoked', revokedBy: 'operator' });
    const task = await submitSample(system.client, 'revoked.txt');
    await waitForRequest(system.client, task);
    await approve(system.client, task);
    await waitForPhase(system.client, task.id, 'completed');
    expect(await viewOf(task.approval)).toMatchObject({ decidedBy: 'operator' });
    expect(await ruleOf(rule.id)).toMatchObject({ uses: 0 });
  });

  test('a decision can create a rule from the request', async () => {
    const [first, later] = [await submitSample(system.client, 'kept.txt'), 'kept.txt'];
    await waitForRequest(system.client, first);
    const decided = await system.client.ask('approvals', 'decide', {
      id: first.approval,
      decision: 'approve',
      remember: specFor('kept.txt', { usesMax: 1 }),
    });
    expect(decided).toMatchObject({
      status: 'approved',
      remembered: expect.stringMatching(/^u-/) as unknown,
    });
    await until('the rule is there', () => ruleOf(String(decided.remembered)));
    const task = await submitSample(system.client, later);
    await waitForPhase(system.client, task.id, 'completed');
    expect(await viewOf(task.approval)).toMatchObject({ rule: decided.remembered });
  });

  test('a rule that would not approve its own request is not created', async () => {
    const task = await submitSample(system.client, 'other.txt');
    await waitForRequest(system.client, task);
    await expect(
      system.client.ask('approvals', 'decide', {
        id: task.approval,
        decision: 'approve',
        remember: specFor('quite-another.txt'),
      }),
    ).rejects.toMatchObject({ code: 'APPROVALS_RULE_REFUSED' });
    await approve(system.client, task);
  });

  test('a dry run reports the past requests that a rule would have decided', async () => {
    const task = await submitSample(system.client, 'tested.txt');
    await waitForRequest(system.client, task);
    await approve(system.client, task);
    const { items, examined: looked } = await system.client.ask('approvals', 'rule_test', {
      match: specFor('tested.txt').match,
    });
    expect(items.map(({ id }) => id)).toEqual([task.approval]);
    expect(looked).toBeGreaterThan(1);
  });
});

// The last test of the file, because it restarts the service with other settings.
test('a disabled built-in rule is not listed and decides nothing', async () => {
  await approvals?.stop();
  await system.start('approvals', { ...approvalsEnv, HOLDPOINT_ROLLBACK_RULE: 'off' });
  const id = await askRollback();
  const { items } = await system.client.ask('approvals', 'rule_list', {});
  expect(items.map(({ author }) => author)).not.toContain('holdpoint');
  await system.client.ask('approvals', 'decide', { id, decision: 'reject' });
  expect(await viewOf(id)).toMatchObject({ status: 'rejected', decidedBy: 'operator' });
});
