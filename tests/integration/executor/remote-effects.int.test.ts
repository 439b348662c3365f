import { createHash, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import {
  type Claim,
  CLAIM_WAIT_MAX_MS,
  REMOTE_OUTPUTS_MAX_BYTES,
  type RemoteOutcome,
  signed,
} from '@holdpoint/contracts/effect/remote';
import { remoteNameIn } from '@holdpoint/contracts/effect/remote-name';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publish, untilHandled } from '../../kit/bus/consumers.ts';
import { grantFor, orderFor, readGrantKey, sampleEffect } from '../../kit/effects/orders.ts';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';

const RUN = subjects.effectCommand('run', DEFAULT_POOL);

let system: System;
let key: KeyObject;
let orderer: NatsConnection;
let executor: ServiceInProcess;

const startExecutor = (journal: string): Promise<ServiceInProcess> =>
  system.start('executor', { HOLDPOINT_JOURNAL_DIR: join(system.folder, journal) });

beforeAll(async () => {
  system = await createSystem();
  // The orchestrator only creates the streams: the test sends the orders.
  await Promise.all([system.start('orchestrator'), system.start('approvals')]);
  executor = await startExecutor('first');
  key = await readGrantKey(system.run.credentialsDir);
  orderer = await system.connect('orchestrator');
  await untilHandled(system.client.connection);
});
afterAll(() => system.stop());

let names = 0;
/** A program with a key of its own, for one label. */
const program = (uses: string) => {
  const pair = generateKeyPairSync('ed25519');
  const x = pair.publicKey.export({ format: 'jwk' }).x ?? '';
  const claim = (change: Partial<Claim> = {}, as?: string) => {
    names += 1;
    const name = `claim-${String(process.pid)}-${String(names)}`.padEnd(16, '-');
    const request = {
      claim: name,
      claimant: 'test program',
      x,
      uses: [uses],
      waitMs: CLAIM_WAIT_MAX_MS,
      ...change,
    };
    return system.client.ask('executor', 'claim', request, as);
  };
  return {
    x,
    claim,
    beat: (order: RunEffect, epoch: number) =>
      system.client.ask('executor', 'beat', signed({ x, items: [{ id: order.id, epoch }] }, pair.privateKey)),
    end: (order: RunEffect, epoch: number, result: RemoteOutcome) =>
      system.client.ask('executor', 'end', signed({ x, id: order.id, epoch, result }, pair.privateKey)),
    privateKey: pair.privateKey,
  };
};

let labels = 0;
const newLabel = (): string => `cap.remote.test_${String((labels += 1))}`;

const orderOf = (uses: string, change: Partial<CanonicalEffect> = {}): RunEffect => {
  const effect = sampleEffect({ uses, args: { charge: 'ch_1' }, target: 'payments', ...change });
  return orderFor(effect, grantFor(key, effect));
};
const give = (order: RunEffect) => publish(orderer, RUN, JSON.stringify(order));
const stateOf = async ({ id }: RunEffect): Promise<string | undefined> =>
  (await system.client.ask('executor', 'get', { id }).catch(() => undefined))?.state;
const untilState = (order: RunEffect, state: string) =>
  untilTrue(`${order.id} is ${state}`, async () => (await stateOf(order)) === state);

const done = { kind: 'applied', outputs: { refund: 're_1' } } as const;

test('a program claims an approved order, beats and ends it once', async () => {
  const uses = newLabel();
  const one = program(uses);
  const waiting = one.claim();
  const order = orderOf(uses);
  await give(order);
  const { items } = await waiting;
  expect(items).toMatchObject([{ kind: 'run', epoch: 1, order: { id: order.id, grant: order.grant } }]);
  const { items: claimants } = await system.client.ask('executor', 'claimants', {});
  expect(claimants.find(({ x }) => x === one.x)).toMatchObject({
    from: { via: 'nats' },
    holds: [{ id: order.id, epoch: 1 }],
  });
  expect(await one.beat(order, 1)).toMatchObject({ items: [{ state: 'held' }] });
  expect(await one.end(order, 1, done)).toEqual({ id: order.id, epoch: 1, status: 'recorded' });
  expect(await one.end(order, 1, done)).toMatchObject({ status: 'repeated' });
  await expect(one.end(order, 1, { kind: 'unknown', reason: 'a second end' })).rejects.toMatchObject({
    code: 'EXECUTOR_CLAIM_ENDED',
  });
  await expect(program(uses).end(order, 1, done)).rejects.toMatchObject({ code: 'EXECUTOR_CLAIM_SIGNATURE' });
  expect(await system.client.ask('executor', 'order', { id: order.id })).toMatchObject({
    state: 'applied',
    outputs: { refund: 're_1' },
  });
});

test('an order that waits in the ledger goes to one of two programs', async () => {
  const uses = newLabel();
  const order = orderOf(uses);
  await give(order);
  await untilState(order, 'prepared');
  const answers = await Promise.all([
    program(uses).claim({ waitMs: 1_000 }),
    program(uses).claim({ waitMs: 1_000 }),
  ]);
  expect(answers.flatMap(({ items }) => items.map((item) => item.order.id))).toEqual([order.id]);
});

test('a claim whose answer was lost is answered with the same order by another executor', async () => {
  const uses = newLabel();
  const one = program(uses);
  const order = orderOf(uses);
  await give(order);
  const claim = `lost-answer-${String(process.pid)}-00000000`;
  expect(await one.claim({ claim })).toMatchObject({ items: [{ epoch: 1 }] });
  await executor.stop();
  executor = await startExecutor('second');
  expect(await one.claim({ claim })).toMatchObject({ items: [{ epoch: 1, order: { id: order.id } }] });
  expect(await one.end(order, 1, done)).toMatchObject({ status: 'recorded' });
});

test('a silent program leaves its effect in doubt, and a late success ends the doubt', async () => {
  const uses = newLabel();
  const one = program(uses);
  const order = orderOf(uses, { effectClass: 'opaque' });
  await give(order);
  expect(await one.claim({ leaseMs: 2_000 })).toMatchObject({ items: [{ epoch: 1 }] });
  await untilState(order, 'in_doubt');
  const doubtful = await system.client.ask('executor', 'get', { id: order.id });
  expect(doubtful.reason).toMatch(/^claimant test program began at .*Z and sent no beat for 2 s$/);
  expect(doubtful.remote).toMatchObject({
    claimant: 'test program',
    x: one.x,
    principal: 'operator',
    from: { via: 'nats' },
  });
  expect(await one.beat(order, 1)).toMatchObject({ items: [{ state: 'lost' }] });
  expect(await one.end(order, 1, done)).toMatchObject({ status: 'recorded' });
  expect(await stateOf(order)).toBe('applied');
});

test('a failure that is reported after the lease is refused, and the effect stays in doubt', async () => {
  const uses = newLabel();
  const one = program(uses);
  const order = orderOf(uses, { effectClass: 'opaque' });
  await give(order);
  await one.claim({ leaseMs: 2_000 });
  await untilState(order, 'in_doubt');
  const failed = { kind: 'failed_clean', error: { code: 'REMOTE_DECLINED', message: 'no' } } as const;
  await expect(one.end(order, 1, failed)).rejects.toMatchObject({ code: 'EXECUTOR_CLAIM_LOST' });
  expect(await stateOf(order)).toBe('in_doubt');
});

test('outputs over the limit are refused, and a reference in their place is recorded', async () => {
  const uses = newLabel();
  const one = program(uses);
  const order = orderOf(uses);
  await give(order);
  await one.claim();
  const large = { kind: 'applied', outputs: { log: 'x'.repeat(REMOTE_OUTPUTS_MAX_BYTES) } } as const;
  await expect(one.end(order, 1, large)).rejects.toMatchObject({ code: 'EXECUTOR_OUTPUTS_TOO_LARGE' });
  expect(await stateOf(order)).toBe('started');
  expect(await one.end(order, 1, done)).toMatchObject({ status: 'recorded' });
});

test('an order that one executor has reaches a program that waits at another', async () => {
  const uses = newLabel();
  const other = await startExecutor('third');
  const programs = Array.from({ length: 4 }, () => program(uses));
  const waiting = programs.map((each) => each.claim());
  const orders = Array.from({ length: 4 }, () => orderOf(uses));
  await Promise.all(orders.map(give));
  const answers = await Promise.all(waiting);
  expect(answers.flatMap(({ items }) => items.map((item) => item.order.id)).toSorted()).toEqual(
    orders.map(({ id }) => id).toSorted(),
  );
  await other.stop();
});

describe('a claim takes the right to its capability', () => {
  /** A token of the operator for the effects of these capabilities alone. */
  const tokenFor = async (claims: string[]): Promise<string> => {
    const secret = `hpt_${randomUUID()}`;
    const sha256 = createHash('sha256').update(secret).digest('hex');
    await system.client.ask('approvals', 'token_create', { name: 'claimant', sha256, claims });
    return secret;
  };

  test('without an identity, or with a token for another capability, it gets nothing', async () => {
    const uses = newLabel();
    const one = program(uses);
    const order = orderOf(uses);
    await give(order);
    await untilState(order, 'prepared');
    const claim = { claim: 'x'.repeat(16), claimant: 'nobody', x: one.x, uses: [uses] };
    await expect(
      system.client.askRaw(subjects.api('executor', 'claim'), JSON.stringify(claim)),
    ).rejects.toMatchObject({ code: 'IDENTITY_REQUIRED' });
    const other = await tokenFor(['another']);
    const refused = { code: 'EXECUTOR_CLAIM_REFUSED', message: expect.stringContaining(uses) as string };
    await expect(one.claim({ waitMs: 0 }, other)).rejects.toMatchObject(refused);
    // A probe reads the target of the effect.
    const probing = one.claim({ waitMs: 0, uses: ['cap.remote.another'], probes: [uses] }, other);
    await expect(probing).rejects.toMatchObject(refused);
    const both = one.claim({ waitMs: 0, uses: ['cap.remote.another', uses] }, other);
    await expect(both).rejects.toMatchObject(refused);
    expect(await stateOf(order)).toBe('prepared');
    const own = await tokenFor([String(remoteNameIn(uses))]);
    expect(await one.claim({}, own)).toMatchObject({ items: [{ order: { id: order.id } }] });
  });
});

describe('a forged report is refused, and the true one counts', () => {
  test('a beat and an end that another key signed', async () => {
    const uses = newLabel();
    const one = program(uses);
    const order = orderOf(uses);
    await give(order);
    expect(await one.claim()).toMatchObject({ items: [{ epoch: 1 }] });
    const { privateKey: other } = program(uses);
    const forged = { code: 'EXECUTOR_CLAIM_SIGNATURE' };
    const beat = signed({ x: one.x, items: [{ id: order.id, epoch: 1 }] }, other);
    await expect(system.client.ask('executor', 'beat', beat)).rejects.toMatchObject(forged);
    const end = signed({ x: one.x, id: order.id, epoch: 1, result: done }, other);
    await expect(system.client.ask('executor', 'end', end)).rejects.toMatchObject(forged);
    expect(await stateOf(order)).toBe('started');
    expect(await one.end(order, 1, done)).toMatchObject({ status: 'recorded' });
  });

  test('an end of its own key that was changed on the way', async () => {
    const uses = newLabel();
    const one = program(uses);
    const [order, unclaimed] = [orderOf(uses), orderOf(newLabel())];
    await give(order);
    await give(unclaimed);
    expect(await one.claim()).toMatchObject({ items: [{ epoch: 1 }] });
    const failed = { kind: 'failed_clean', error: { code: 'REMOTE_DECLINED', message: 'no' } } as const;
    const sent = signed({ x: one.x, id: order.id, epoch: 1, result: failed }, one.privateKey);
    for (const change of [{ result: done }, { epoch: 2 }, { id: unclaimed.id }])
      await expect(
        system.client.ask('executor', 'end', { ...sent, ...change }),
        JSON.stringify(change),
      ).rejects.toMatchObject({ code: 'EXECUTOR_CLAIM_SIGNATURE' });
    expect(await stateOf(order)).toBe('started');
    expect(await system.client.ask('executor', 'end', sent)).toMatchObject({ status: 'recorded' });
    expect(await stateOf(order)).toBe('failed_clean');
  });
});

describe('a claimant of another version', () => {
  const askRaw = (endpoint: 'claim' | 'beat' | 'end', body: object): Promise<unknown> =>
    system.client.askRaw(subjects.api('executor', endpoint), JSON.stringify(body), system.client.token);
  const claimRaw = async (body: object): Promise<unknown> => {
    const { assertion } = await system.client.ask('approvals', 'identify', {});
    return system.client.askRaw(
      subjects.api('executor', 'claim'),
      JSON.stringify(body),
      undefined,
      assertion,
    );
  };

  test('an older one sends only what a claim must have, and is served', async () => {
    const uses = newLabel();
    const { x, privateKey } = program(uses);
    const order = orderOf(uses);
    await give(order);
    await untilState(order, 'prepared');
    const claim = { claim: `older-${randomUUID()}`, claimant: 'older', x, uses: [uses] };
    expect(await claimRaw(claim)).toMatchObject({ items: [{ epoch: 1, order: { id: order.id } }] });
    const end = signed({ x, id: order.id, epoch: 1, result: done }, privateKey);
    expect(await askRaw('end', end)).toMatchObject({ status: 'recorded' });
  });

  test('a newer one may add fields to a claim; its reports are signed as a whole', async () => {
    const uses = newLabel();
    const { x, privateKey, end } = program(uses);
    const order = orderOf(uses);
    await give(order);
    const claim = { claim: `newer-${randomUUID()}`, claimant: 'newer', x, uses: [uses], waitMs: 20_000 };
    expect(await claimRaw({ ...claim, region: 'eu' })).toMatchObject({ items: [{ epoch: 1 }] });
    const more = { x, id: order.id, epoch: 1, result: done, region: 'eu' };
    await expect(askRaw('end', signed(more, privateKey))).rejects.toMatchObject({
      code: 'EXECUTOR_CLAIM_SIGNATURE',
    });
    expect(await end(order, 1, done)).toMatchObject({ status: 'recorded' });
  });

  test('one that leaves out a field is refused, and its order waits for the next', async () => {
    const uses = newLabel();
    const one = program(uses);
    const order = orderOf(uses);
    await give(order);
    await untilState(order, 'prepared');
    const { x } = one;
    const whole = { claim: `whole-${randomUUID()}`, claimant: 'whole', x, uses: [uses] };
    for (const missing of Object.keys(whole)) {
      const claim = Object.fromEntries(Object.entries(whole).filter(([name]) => name !== missing));
      await expect(claimRaw(claim), missing).rejects.toMatchObject({ code: 'CONTRACT_INVALID' });
    }
    expect(await one.claim()).toMatchObject({ items: [{ order: { id: order.id } }] });
    await expect(askRaw('end', { x, id: order.id, result: done })).rejects.toMatchObject({
      code: 'CONTRACT_INVALID',
    });
    expect(await stateOf(order)).toBe('started');
    expect(await one.end(order, 1, done)).toMatchObject({ status: 'recorded' });
  });
});
