import {
  connectOverHttp,
  defineEffect,
  HoldpointError,
  nothingHappened,
  type RemoteConnection,
  startClaimant,
} from '@holdpoint/sdk/http';
import { remoteOverNats } from '@holdpoint/sdk/index';
import { type EffectId, TaskId } from '@holdpoint/contracts/values/ids';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { commandLine } from '../../kit/command-line.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until } from '../../kit/until.ts';

// Functions of users behind the gate of a real stack.

let system: System;
let http: RemoteConnection;
let nats: RemoteConnection;
let worker: RemoteConnection;
beforeAll(async () => {
  system = await createSystem();
  const { approvals } = await system.startAll();
  http = connectOverHttp({
    url: `http://127.0.0.1:${String(approvals.httpPort)}`,
    token: system.client.token,
  });
  const { token } = system.client;
  nats = remoteOverNats({ connection: await system.connect('operator'), token });
  worker = remoteOverNats({ connection: await system.connect('worker'), token });
});
afterAll(() => system.stop());

/** Decides the request of an effect once it is there. */
const decide = async (id: string, decision: 'approve' | 'reject'): Promise<void> => {
  const request = await until('the request is there', async () => {
    const { latestApproval } = await system.client.ask('orchestrator', 'get', { id: TaskId.parse(id) });
    return latestApproval?.status === 'pending' ? latestApproval.id : undefined;
  });
  const { digest } = await until('the request can be read', () =>
    system.client.ask('approvals', 'get', { id: request }).catch(() => undefined),
  );
  const { approver } = system.client;
  await system.client.ask('approvals', 'decide', { id: request, decision, digest }, approver);
};

const refundOf = (name: string, run: (charge: string, key: string) => Promise<{ refund: string }>) =>
  defineEffect({
    name,
    title: 'Refund ${cents} cents of ${charge}',
    effectClass: 'keyed',
    input: z.object({ charge: z.string(), cents: z.int().positive() }),
    output: z.object({ refund: z.string() }),
    key: ({ charge }) => `refund:${charge}`,
    run: ({ charge }, { key }) => run(charge, key),
  });

describe('over HTTP', () => {
  test('a held function runs once after its approval, and its outputs arrive', async () => {
    const runs: string[] = [];
    const refund = refundOf('refund_http', (charge, key) => {
      runs.push(`${charge} ${key}`);
      return Promise.resolve({ refund: `re_${charge}` });
    });
    const claimant = startClaimant({ connection: http, effects: [refund], signals: false });
    onTestFinished(() => claimant.stop());
    await claimant.ready;
    const held = await refund.hold(http, { charge: 'ch_1', cents: 500 });
    const again = await refund.hold(http, { charge: 'ch_1', cents: 500 });
    expect(again.id).toBe(held.id);
    expect(runs).toEqual([]);
    await decide(held.id, 'approve');
    expect(await held.wait({ withinMs: 30_000 })).toEqual({ refund: 're_ch_1' });
    expect(runs).toEqual(['ch_1 refund:ch_1']);
    await expect(refund.hold(http, { charge: 'ch_1', cents: 50_000 })).rejects.toMatchObject({
      code: 'ORCHESTRATOR_TASK_CONFLICT',
    });
  });

  test('a rejected function never runs, and a clean failure keeps its code', async () => {
    let runs = 0;
    const refund = refundOf('refund_refused', () => {
      runs += 1;
      throw nothingHappened('CARD_DECLINED', 'the bank declined');
    });
    const claimant = startClaimant({ connection: http, effects: [refund], signals: false });
    onTestFinished(() => claimant.stop());
    await claimant.ready;
    const rejected = await refund.hold(http, { charge: 'ch_1', cents: 1 });
    await decide(rejected.id, 'reject');
    await expect(rejected.wait({ withinMs: 30_000 })).rejects.toMatchObject({ name: 'EffectRejected' });
    expect(runs).toBe(0);
    const failed = await refund.hold(http, { charge: 'ch_2', cents: 1 });
    await decide(failed.id, 'approve');
    await expect(failed.wait({ withinMs: 30_000 })).rejects.toMatchObject({
      name: 'EffectFailed',
      code: 'REMOTE_CARD_DECLINED',
    });
    expect(runs).toBe(1);
  });
});

test('a claimant that is cut off leaves an opaque effect in doubt, and its function never runs again', async () => {
  let runs = 0;
  let isCut = false;
  const cut = <Asked, Answer>(say: (asked: Asked) => Promise<Answer>) => {
    return (asked: Asked): Promise<Answer> =>
      isCut ? Promise.reject(new HoldpointError('RUNTIME_UNAVAILABLE', 'cut off')) : say(asked);
  };
  const deploy = defineEffect({
    name: 'deploy_cut',
    input: z.object({ release: z.string() }),
    key: ({ release }) => release,
    run: () => {
      runs += 1;
      isCut = true;
      return {};
    },
  });
  const options = { effects: [deploy], signals: false, leaseMs: 2_000, drainMs: 0 };
  const connection = { ...http, claim: cut(http.claim), beat: cut(http.beat), end: cut(http.end) };
  const lost = startClaimant({ ...options, connection, log: () => undefined });
  onTestFinished(() => lost.stop());
  await lost.ready;
  const held = await deploy.hold(http, { release: '1' });
  await decide(held.id, 'approve');
  await expect(held.wait({ withinMs: 60_000 })).rejects.toMatchObject({ name: 'EffectInDoubt' });
  const next = startClaimant({ ...options, connection: http });
  onTestFinished(() => next.stop());
  await next.ready;
  isCut = false;
  await until('the late end arrives', async () => {
    const { state } = await held.state();
    return state === 'applied' ? true : undefined;
  });
  expect(runs).toBe(1);
});

test('people approve the preview, a probe finds the release whose answer was lost, and an undo reverts it', async () => {
  let running: string | undefined;
  const seen: unknown[] = [];
  const release = defineEffect({
    name: 'release_parts',
    effectClass: 'probeable',
    target: 'shop',
    input: z.strictObject({ version: z.string() }),
    output: z.object({ version: z.string() }),
    key: ({ version }) => version,
    preview: ({ version }) => ({ plan: `${running ?? 'nothing'} -> ${version}` }),
    run: ({ version }, { preview }) => {
      running = version;
      seen.push(preview);
      throw new Error('the answer is lost');
    },
    probe: ({ version }) => ({
      found: running === version ? 'applied' : 'not_applied',
      outputs: { version },
    }),
    compensate: ({ args, outputs }) => {
      seen.push({ args, outputs });
      running = undefined;
      return {};
    },
  });
  const claimant = startClaimant({
    connection: http,
    effects: [release],
    signals: false,
    log: () => undefined,
  });
  onTestFinished(() => claimant.stop());
  await claimant.ready;
  const held = await release.hold(http, { version: 'v2' });
  await decide(held.id, 'approve');
  expect(await held.wait({ withinMs: 60_000, throughDoubt: true })).toEqual({ version: 'v2' });
  expect(seen).toEqual([{ plan: 'nothing -> v2' }]);
  const { effect } = await held.state();
  const id = effect as EffectId;
  expect(await system.client.ask('executor', 'get', { id })).toMatchObject({ state: 'applied', starts: 1 });

  const undone = await commandLine(system)('effect', 'undo', id, '--json');
  expect(undone, undone.err).toMatchObject({ code: 0 });
  const { id: task } = JSON.parse(undone.out) as { readonly id: string };
  await decide(task, 'approve');
  await until('the release is reverted', () => (running === undefined ? true : undefined));
  expect(seen.at(-1)).toEqual({ args: { version: 'v2' }, outputs: { version: 'v2' } });
});

test('over NATS, a worker claims what an operator holds', async () => {
  const runs: string[] = [];
  const refund = refundOf('refund_nats', (charge, key) => {
    runs.push(`${charge} ${key}`);
    return Promise.resolve({ refund: `re_${charge}` });
  });
  await nats.register(refund.definition);
  const claimant = startClaimant({ connection: worker, effects: [refund], signals: false });
  onTestFinished(() => claimant.stop());
  await claimant.ready;
  const held = await refund.hold(nats, { charge: 'ch_1', cents: 500 });
  await decide(held.id, 'approve');
  expect(await held.wait({ withinMs: 30_000 })).toEqual({ refund: 're_ch_1' });
  expect(runs).toEqual(['ch_1 refund:ch_1']);
  await expect(refund.hold(nats, { charge: 'ch_1', cents: 1 })).rejects.toMatchObject({
    code: 'ORCHESTRATOR_TASK_CONFLICT',
  });
});
