import { generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CapabilityDefinition } from '@holdpoint/contracts/approval/capability';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { approvalIdOf, effectIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import { HoldEffect } from '@holdpoint/contracts/effect/hold';
import { heldSubmissionOf } from '@holdpoint/contracts/task/held-effect';
import type { SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { newTaskId, type SampleTask, waitForPhase, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

const WRITE = 'write' as NodeId;
const GRACE = 'hpt_grace';
const FLOOR = { floor: [{ name: 'people', audience: ['operators'], fourEyes: true }] };

let system: System;
let policy: string;
beforeAll(async () => {
  system = await createSystem();
  policy = join(system.folder, 'policy.json');
  await writeFile(policy, JSON.stringify({ floor: [] }));
  const { token, approver } = system.client;
  const people = Object.entries({ operator: token, approver, grace: GRACE });
  const settings = {
    HOLDPOINT_POLICY_FILE: policy,
    HOLDPOINT_PRINCIPALS_FILE: await writePrincipals(
      system.folder,
      people.map(([name, secret]) => ({ name, groups: ['operators'], token: secret })),
    ),
  };
  await Promise.all(
    SERVICES.map((service) => system.start(service, service === 'approvals' ? settings : {})),
  );
});
afterAll(() => system.stop());

const submit = async (
  file: string,
  { kind, target, audience }: { kind: SideEffectKind; target: string; audience: string[] },
): Promise<SampleTask> => {
  const id = newTaskId();
  await system.client.ask('orchestrator', 'submit', {
    id,
    workflow: 'mine',
    goal: 'tell the team',
    definition: {
      id: 'mine',
      version: '1',
      nodes: [
        {
          id: WRITE,
          uses: 'cap.file.append',
          after: [],
          args: { file, line: 'evil' },
          effect: {
            kind,
            effectClass: 'keyed',
            idempotencyKey: 'write',
            target,
            pool: 'default',
            audience,
            approvalTimeoutMs: 60_000,
          },
        },
      ],
    },
  });
  return { id, line: 'evil', approval: approvalIdOf(id, WRITE, 1), effect: effectIdOf(id, WRITE, 'write') };
};
const floorOf = () => system.client.ask('approvals', 'policy_get', {});
const put = async (text: string): Promise<void> => {
  const { digest, problem } = await floorOf();
  await writeFile(policy, text);
  await untilTrue('the file is read', async () => {
    const now = await floorOf();
    return now.digest !== digest || now.problem !== problem;
  });
};

describe('the policy floor', () => {
  test('a rule for notices approves no file that calls itself a notice', async () => {
    await system.client.ask('approvals', 'rule_add', {
      name: 'notices',
      match: { capability: '*', kinds: ['notify'], target: 'notify:*' },
    });
    const task = await submit('noticed.txt', {
      kind: 'notify',
      target: 'notify:team',
      audience: ['operators'],
    });
    const asked = await waitForRequest(system.client, task);
    expect(asked).toMatchObject({
      status: 'pending',
      effect: { kind: 'write_external', target: 'file:noticed.txt' },
    });
  });

  test('a request is as strict as the floor, whatever its requester names', async () => {
    await put(JSON.stringify(FLOOR));

    const task = await submit('mine.txt', {
      kind: 'write_external',
      target: 'file:mine.txt',
      audience: ['user:operator', 'user:approver'],
    });
    const asked = await waitForRequest(system.client, task);
    const { digest } = await floorOf();
    expect(asked.floor).toMatchObject({ digest, entries: ['people'], within: [['operators']] });
    const { approval: id } = task;
    const decision = { id, decision: 'approve' } as const;
    await expect(system.client.ask('approvals', 'decide', decision)).rejects.toMatchObject({
      code: 'APPROVALS_FOUR_EYES',
    });
    await system.client.ask('approvals', 'decide', decision, system.client.approver);
    await waitForPhase(system.client, task.id, 'completed');
    expect(await readFile(join(system.workspace, 'mine.txt'), 'utf8')).toContain('evil');
    const { items } = await system.client.ask('approvals', 'audit', { about: id });
    expect(JSON.parse(items[0]?.entry ?? '{}')).toMatchObject({ floor: { digest } });
  });

  test('a request that only a requester outside the floor may decide ends at once, and its task is blocked', async () => {
    await put(JSON.stringify({ floor: [{ name: 'others', audience: ['user:approver'] }] }));
    const task = await submit('own.txt', {
      kind: 'write_external',
      target: 'file:own.txt',
      audience: ['user:operator'],
    });
    const asked = await until('the request has ended', async () => {
      const view = await system.client.ask('approvals', 'get', { id: task.approval });
      return view.status === 'pending' ? undefined : view;
    });
    expect(asked).toMatchObject({ status: 'rejected', decidedBy: 'policy' });
    expect(asked.comment).toMatch(/^APPROVALS_FLOOR_AUDIENCE/);
  });

  test('an invalid file leaves the floor in force, and says why', async () => {
    const before = await floorOf();
    await put('{ "floor": [');
    const now = await floorOf();
    expect(now.digest).toBe(before.digest);
    expect(now.problem).toMatch(/^HOLDPOINT_POLICY_FILE: line 1: not JSON/);
    await put(JSON.stringify(FLOOR));
    expect((await floorOf()).problem).toBeUndefined();
  });

  test('a floor is tested against the stored requests, page by page', async () => {
    const floor = { floor: [{ name: 'two', quorum: 2 }] };
    const all = await system.client.ask('approvals', 'policy_test', { floor, days: 1, limit: 50 });
    expect(all.items.length).toBeGreaterThan(1);
    expect(all.items.every(({ stricter }) => stricter.includes('quorum'))).toBe(true);
    const ids: string[] = [];
    let after: string | undefined;
    do {
      const page = await system.client.ask('approvals', 'policy_test', {
        floor,
        days: 1,
        limit: 1,
        ...(after !== undefined && { after }),
      });
      ids.push(...page.items.map(({ id }) => id));
      after = page.next;
    } while (after !== undefined);
    expect(ids).toEqual(all.items.map(({ id }) => id));
  });

  test('a held effect of a program needs the four eyes and the quorum of the floor before a program gets it', async () => {
    await put(
      JSON.stringify({ floor: [{ name: 'two', audience: ['operators'], fourEyes: true, quorum: 2 }] }),
    );
    const { ask, approver } = system.client;
    const definition = CapabilityDefinition.parse({
      name: 'payout',
      title: 'Pay out ${cents} cents',
      effectClass: 'keyed',
      input: { type: 'object', properties: { cents: { type: 'integer' } } },
    });
    await ask('approvals', 'capability_register', definition);
    const wanted = HoldEffect.parse({ capability: 'payout', key: 'payout:1', args: { cents: 5 } });
    const submission = heldSubmissionOf(wanted, definition);
    await ask('orchestrator', 'submit', submission);
    const asked = await until('approvers are asked', async () => {
      const { items } = await ask('approvals', 'list', { task: submission.id });
      return items[0];
    });
    expect(asked).toMatchObject({
      status: 'pending',
      effect: { uses: 'cap.remote.payout' },
      policy: { quorum: 2, fourEyes: true },
      floor: { entries: ['two'] },
    });
    const x = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? '';
    const claim = () =>
      ask('executor', 'claim', {
        claim: crypto.randomUUID(),
        claimant: 'payouts',
        x,
        uses: ['cap.remote.payout'],
      });
    const decision = { id: asked.id, decision: 'approve', digest: asked.digest } as const;
    await expect(ask('approvals', 'decide', decision)).rejects.toMatchObject({ code: 'APPROVALS_FOUR_EYES' });
    expect(await ask('approvals', 'decide', decision, approver)).toMatchObject({
      status: 'pending',
      approvalsMissing: 1,
    });
    expect(await claim()).toEqual({ items: [] });
    expect(await ask('approvals', 'decide', decision, GRACE)).toMatchObject({ status: 'approved' });
    const given = await until('the program gets the order', async () => (await claim()).items[0]);
    expect(given).toMatchObject({ kind: 'run', epoch: 1, order: { effect: { args: { cents: 5 } } } });
  });
});
