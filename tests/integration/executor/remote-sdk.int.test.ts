import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import { runClaimant } from '@holdpoint/sdk/remote/claimant';
import { createTrust } from '@holdpoint/sdk/remote/trust';
import {
  connectOverHttp,
  createHttpClient,
  defineEffect,
  HoldpointError,
  nothingHappened,
  type RemoteConnection,
  startClaimant,
} from '@holdpoint/sdk/http';
import { createClient, defineWorkflow, phasesFor, remoteOverNats, startWorker } from '@holdpoint/sdk/index';
import { type EffectId, TaskId } from '@holdpoint/contracts/values/ids';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { commandLine } from '../../kit/command-line.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until } from '../../kit/until.ts';

// Functions of users behind the gate of a real stack.

let system: System;
let port: number;
let http: RemoteConnection;
let nats: RemoteConnection;
let worker: RemoteConnection;
beforeAll(async () => {
  system = await createSystem();
  const { approvals } = await system.startAll();
  port = approvals.httpPort;
  http = connectOverHttp({ url: `http://127.0.0.1:${String(port)}`, token: system.client.token });
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

test('the approvers of an effect of a program see its preview, and it runs with that preview', async () => {
  const seen: unknown[] = [];
  const apply = defineEffect({
    name: 'apply_in_program',
    effectClass: 'keyed',
    input: z.object({ wanted: z.string() }),
    output: z.object({ applied: z.string() }),
    key: ({ wanted }) => wanted,
    preview: ({ wanted }) => ({ plan: `+ ${wanted}` }),
    run: ({ wanted }, { preview }) => {
      seen.push(preview);
      return { applied: wanted };
    },
  });
  const { effectPhase, terminalPhase } = phasesFor(z.object({ applied: z.string().default('') }));
  const workflow = defineWorkflow({
    id: 'apply_wanted',
    version: '1',
    state: z.object({ applied: z.string().default('') }),
    initial: 'apply',
    phases: {
      apply: effectPhase({
        effect: () => apply.request({ wanted: 'a server' }),
        onResult: ({ applied }, draft) => void (draft.applied = applied),
        next: 'done',
      }),
      done: terminalPhase({ output: ({ applied }) => applied }),
    },
  });
  const claimant = startClaimant({ connection: http, effects: [apply], signals: false });
  onTestFinished(() => claimant.stop());
  await claimant.ready;
  const connection = await system.connect('worker');
  const programs = startWorker({ connection, workflows: [workflow], signals: false, log: () => undefined });
  onTestFinished(() => programs.stop());
  await programs.ready;
  const client = createClient({ connection: await system.connect('operator'), token: system.client.token });
  const handle = await client.start(workflow, {});
  const child = await until('the effect has a task', async () => {
    const { effects = [] } = await system.client.ask('orchestrator', 'get', { id: TaskId.parse(handle.id) });
    return effects[0];
  });
  const request = await until('its request is there', async () => {
    const { items } = await system.client.ask('approvals', 'list', { task: child });
    return items[0] && system.client.ask('approvals', 'get', { id: items[0].id });
  });
  expect(request.effect?.args).toEqual({ wanted: 'a server', preview: { plan: '+ a server' } });
  expect(seen).toEqual([]);
  await decide(child, 'approve');
  expect(await handle.result()).toBe('a server');
  expect(seen).toEqual([{ plan: '+ a server' }]);
});

test('the client over HTTP submits, steers and decides tasks, and lists capabilities and claimants', async () => {
  const url = `http://127.0.0.1:${String(port)}`;
  const client = createHttpClient({ url, token: system.client.token });
  const approver = createHttpClient({ url, token: system.client.approver });
  const collected = async <Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> => {
    const all: Item[] = [];
    for await (const item of items) all.push(item);
    return all;
  };
  const submit = (key: string) =>
    client.tasks.submit({ workflow: 'sample', goal: 'Say hello', inputs: { line: key } }, key);
  const requestOf = (task: string) =>
    until(`${task} has a request`, async () => (await collected(approver.approvals.list({ task })))[0]);
  const phaseOf = (id: string, phase: string) =>
    until(`${id} is ${phase}`, async () => ((await client.tasks.get(id)).phase === phase ? true : undefined));

  const { id } = await submit('first');
  expect((await submit('first')).id).toBe(id);
  expect(await collected(client.tasks.list({ limit: 1 }))).toContainEqual(expect.objectContaining({ id }));
  const { id: approval } = await requestOf(id);
  expect(await client.tasks.pause(id, { reason: 'not yet' })).toMatchObject({ phase: 'paused' });
  await client.tasks.resume(id);
  const seen = await approver.approvals.get(approval);
  const forged = { ...seen, effect: { ...seen.effect, target: 'file:other.txt' } };
  await expect(approver.approvals.decide(forged, 'approve')).rejects.toMatchObject({
    code: 'APPROVALS_EFFECT_ALTERED',
  });
  await approver.approvals.decide(seen, 'approve', { comment: 'fine' });
  await phaseOf(id, 'completed');

  const { id: rejected } = await submit('second');
  const { digest } = await requestOf(rejected);
  await approver.tasks.answer(rejected, { answer: 'reject', digest });
  await phaseOf(rejected, 'failed');
  expect(await client.tasks.retry(rejected, { rewind: true })).toMatchObject({ id: rejected });

  const { id: cancelled } = await submit('third');
  await client.tasks.cancel(cancelled, { reason: 'a mistake' });
  await phaseOf(cancelled, 'cancelled');

  const refund = refundOf('refund_client', () => Promise.resolve({ refund: 're' }));
  const claimant = startClaimant({ connection: http, effects: [refund], signals: false });
  onTestFinished(() => claimant.stop());
  await claimant.ready;
  await until('it claims', async () =>
    (await client.claimants()).find(({ uses }) => uses.includes(refund.uses)),
  );
  const named = { name: 'refund_client' };
  expect(await collected(client.capabilities.list(named))).toMatchObject([
    { ...named, status: 'registered' },
  ]);
  expect(await client.capabilities.withdraw('refund_client')).toMatchObject({ status: 'withdrawn' });
});

describe('a claimant whose clock is wrong', () => {
  const MINUTE_MS = 60_000;
  /** Carries out one effect on a machine whose clock is off by this much. */
  const carryOut = async (name: string, offMs: number) => {
    let runs = 0;
    const refund = refundOf(name, (charge) => {
      runs += 1;
      return Promise.resolve({ refund: `re_${charge}` });
    });
    await http.register(refund.definition);
    const claimant = runClaimant({
      say: http,
      clock: systemClock,
      now: () => Date.now() + offMs,
      key: generateKeyPairSync('ed25519').privateKey,
      claimName: randomUUID,
      trust: createTrust(http.keys),
      effects: [refund],
      name: 'wrong clock',
      concurrency: 1,
      waitMs: 20_000,
      leaseMs: 30_000,
      drainMs: 0,
      log: () => undefined,
    });
    onTestFinished(() => claimant.stop());
    const held = await refund.hold(http, { charge: 'ch_1', cents: 1 });
    await decide(held.id, 'approve');
    const ended = held.wait({ withinMs: 60_000 }).catch((error: unknown) => error);
    return { ended: await ended, runs, effect: (await held.state()).effect as EffectId };
  };

  test.each([
    ['ten minutes ahead', 'clock_ahead', 10 * MINUTE_MS],
    ['ten minutes behind', 'clock_behind', -10 * MINUTE_MS],
    ['two hours behind', 'clock_far_behind', -120 * MINUTE_MS],
  ])('%s, it carries the effect out', async (_, name, offMs) => {
    expect(await carryOut(name, offMs)).toMatchObject({ ended: { refund: 're_ch_1' }, runs: 1 });
  });

  test('so far ahead that the grant seems over, it refuses, and nothing has happened', async () => {
    const { ended, runs, effect } = await carryOut('clock_far_ahead', 62 * MINUTE_MS);
    expect(ended).toMatchObject({ name: 'EffectFailed', code: 'REMOTE_GRANT_REFUSED' });
    expect(String(ended)).toContain('EXECUTOR_GRANT_EXPIRED: the grant has expired; compare the clocks');
    expect(runs).toBe(0);
    // The end of the task cancels what it no longer needs.
    const { state, starts } = await system.client.ask('executor', 'get', { id: effect });
    expect(['failed_clean', 'cancelled']).toContain(state);
    expect(starts).toBe(1);
  });
});

describe('a capability that is withdrawn', () => {
  /** The state of an effect whose capability was withdrawn before or after its approval. */
  const hold = async (name: string) => {
    let runs = 0;
    const refund = refundOf(name, (charge) => {
      runs += 1;
      return Promise.resolve({ refund: `re_${charge}` });
    });
    await http.register(refund.definition);
    return { refund, held: await refund.hold(http, { charge: 'ch_1', cents: 1 }), runs: () => runs };
  };
  const withdraw = (name: string) => system.client.ask('approvals', 'capability_withdraw', { name });
  /** A program with the function, that does not register it. */
  const carryOut = (refund: ReturnType<typeof refundOf>): void => {
    const register = async () => {
      const known = await http.capability(refund.name);
      if (known === undefined) throw new Error('the capability is unknown');
      return known;
    };
    const claimant = startClaimant({ connection: { ...http, register }, effects: [refund], signals: false });
    onTestFinished(() => claimant.stop());
  };

  test.each(['before', 'after'])(
    '%s the approval: effects that were held earlier still run',
    async (when) => {
      const name = `withdrawn_${when}`;
      const { refund, held, runs } = await hold(name);
      if (when === 'before') await withdraw(name);
      await decide(held.id, 'approve');
      if (when === 'after') await withdraw(name);
      await expect(refund.hold(http, { charge: 'ch_2', cents: 1 })).rejects.toMatchObject({
        code: 'APPROVALS_CAPABILITY_WITHDRAWN',
      });
      carryOut(refund);
      expect(await held.wait({ withinMs: 60_000 })).toEqual({ refund: 're_ch_1' });
      expect(runs()).toBe(1);
    },
  );
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
