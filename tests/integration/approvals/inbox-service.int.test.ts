import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { approvalIdOf, effectIdOf } from '@holdpoint/contracts/values/ids';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askOwner } from '../../kit/tasks/aged.ts';
import { publish } from '../../kit/bus/consumers.ts';
import { sampleEffect } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';

let system: System;
let orchestrator: NatsConnection;
beforeAll(async () => {
  system = await createSystem();
  await system.startAll();
  orchestrator = await system.connect('orchestrator');
});
afterAll(() => system.stop());

const requestFor = (effect: CanonicalEffect, more: Partial<RequestApproval> = {}): RequestApproval => {
  const { task, node } = effect;
  const revision = more.revision ?? 1;
  return RequestApproval.parse({
    id: approvalIdOf(task, node, revision),
    task,
    node,
    revision,
    effectId: effectIdOf(task, node, effect.idempotencyKey),
    effect,
    digest: effectDigest(effect),
    title: 'append a line',
    requestedBy: 'ada',
    audience: ['operators'],
    timeoutMs: 600_000,
    ...more,
  });
};

/** Sends a request as the orchestrator does, and waits until it is stored. */
const ask = async (request: RequestApproval): Promise<RequestApproval> => {
  await publish(orchestrator, subjects.approvalCommand('request'), JSON.stringify(request));
  await until(`${request.id} is requested`, () => system.client.ask('approvals', 'get', { id: request.id }));
  return request;
};

const kept = async ({ id }: RequestApproval): Promise<unknown> =>
  (
    await askOwner(
      system.database,
      `SELECT count(DISTINCT id)::int AS requests, count(*)::int AS entries FROM approvals.inbox WHERE id = $1`,
      [id],
    )
  )[0];

describe('a request', () => {
  test('a request stays in the inbox until it is decided', async () => {
    const request = await ask(requestFor(sampleEffect(), { audience: ['operators', 'user:ada'] }));
    expect(await kept(request)).toEqual({ requests: 1, entries: 3 });
    await system.client.ask('approvals', 'decide', { id: request.id, decision: 'approve' });
    expect(await kept(request)).toEqual({ requests: 0, entries: 0 });
  });

  test('a request appears in the inbox of the people it is escalated to', async () => {
    const policy = { handOn: [{ afterMs: 1_000, audience: ['role:late-shift'] }] };
    const request = await ask(requestFor(sampleEffect(), { policy }));
    await untilTrue('it is escalated', async () => {
      const { items } = await system.client.ask('approvals', 'list', { audience: ['role:late-shift'] });
      return items.some(({ id }) => id === request.id);
    });
    expect(await kept(request)).toEqual({ requests: 1, entries: 3 });
  });

  test('a request stays in the inbox while it needs more votes', async () => {
    const request = await ask(requestFor(sampleEffect(), { policy: { quorum: 2 } }));
    const answer = await system.client.ask('approvals', 'decide', { id: request.id, decision: 'approve' });
    expect(answer).toMatchObject({ status: 'pending', approvalsMissing: 1 });
    const { items } = await system.client.ask('approvals', 'list', { task: request.task });
    expect(items).toMatchObject([{ id: request.id, votes: [{ by: 'operator', decision: 'approve' }] }]);
  });
});

test('effects of 900 KB are listed in pages, each of which fits into a message', async () => {
  const line = 'x'.repeat(900_000);
  const requests: RequestApproval[] = [];
  for (let i = 0; i < 4; i += 1) {
    const effect = sampleEffect({ args: { file: 'orders.txt', line } });
    requests.push(await ask(requestFor(effect, { audience: ['operators', 'group:large'] })));
  }
  const found: ApprovalView[] = [];
  let after: string | undefined;
  do {
    const page = await system.client.ask('approvals', 'list', { audience: ['group:large'], after });
    found.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  expect(found.map(({ id }) => id)).toEqual(requests.map(({ id }) => id));
});

test('each decision of a bulk request is separate, and a refused one does not affect the others', async () => {
  const requests: RequestApproval[] = [];
  for (let i = 0; i < 20; i += 1) requests.push(await ask(requestFor(sampleEffect())));
  const [gone, other] = requests;
  if (gone === undefined || other === undefined) throw new Error('nothing was asked');
  await system.client.ask('approvals', 'decide', { id: gone.id, decision: 'reject' });
  const items = requests.map(({ id, digest }) => ({ id, digest: id === other.id ? 'f'.repeat(64) : digest }));
  const answer = await system.client.ask('approvals', 'decide_many', {
    items,
    decision: 'approve',
    comment: 'all',
  });
  const refused = answer.items.flatMap((item) => ('error' in item ? [[item.id, item.error.code]] : []));
  expect(refused).toEqual([
    [gone.id, 'APPROVALS_ALREADY_DECIDED'],
    [other.id, 'APPROVALS_DIGEST_MISMATCH'],
  ]);
  const rows = await askOwner<{ aggregate: string; n: number }>(
    system.database,
    `SELECT aggregate, count(*)::int AS n FROM approvals.events
      WHERE aggregate = ANY ($1) AND data->>'outcome' = 'approved' AND data->>'comment' = 'all' GROUP BY aggregate`,
    [requests.map(({ id }) => id)],
  );
  expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 18 }, () => 1));
});

describe('an earlier revision', () => {
  const revised = (first: CanonicalEffect, revision: number, line: string, body?: string) =>
    requestFor(
      { ...first, args: { ...first.args, line } },
      { revision, ...(body !== undefined && { body }) },
    );
  const previousOf = async ({ id }: RequestApproval) =>
    (await system.client.ask('approvals', 'get', { id })).previous;

  test('the difference to its predecessor is available for each revision', async () => {
    const effect = sampleEffect();
    const one = await ask(revised(effect, 1, 'hello', 'to everybody'));
    expect(await previousOf(one)).toBeUndefined();
    const comment = 'say goodbye';
    await system.client.ask('approvals', 'decide', { id: one.id, decision: 'request_changes', comment });
    const two = await ask(revised(effect, 2, 'goodbye', 'to everybody'));
    const previous = await previousOf(two);
    expect(previous).toMatchObject({ id: one.id, status: 'changes_requested', comment });
    expect(previous?.changes).toContain('-    "line": "hello"\n+    "line": "goodbye"');
    expect(previous?.changes).not.toContain('everybody');
    await system.client.ask('approvals', 'decide', { id: two.id, decision: 'reject' });
    const three = await ask(revised(effect, 3, 'goodbye', 'to some'));
    const last = await previousOf(three);
    expect(last).toMatchObject({ id: two.id, status: 'rejected' });
    expect(last?.changes).toContain('-to everybody');
    expect(last?.changes).not.toContain('goodbye');
  });

  test('the predecessor is the latest existing revision; revisions without a request are skipped', async () => {
    const effect = sampleEffect();
    const one = await ask(revised(effect, 1, 'hello'));
    expect(await previousOf(await ask(revised(effect, 20, 'hello')))).toEqual({
      id: one.id,
      status: 'pending',
      changes: '',
    });
    expect(await previousOf(await ask(revised(effect, 41, 'hello')))).toBeUndefined();
  });

  test('an answer about an effect of 900 KB fits into a message', async () => {
    const effect = sampleEffect();
    const one = await ask(revised(effect, 1, 'x'.repeat(900_000)));
    const two = await ask(revised(effect, 2, 'y'.repeat(900_000)));
    const previous = await previousOf(two);
    expect(previous?.id).toBe(one.id);
    expect(previous?.changes).toMatch(/-.*more characters in this line/);
  });
});
