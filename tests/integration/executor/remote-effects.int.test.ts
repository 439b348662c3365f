import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import {
  type Claim,
  CLAIM_WAIT_MAX_MS,
  type RemoteOutcome,
  signed,
} from '@holdpoint/contracts/effect/remote';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
  const claim = (change: Partial<Claim> = {}) => {
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
    return system.client.ask('executor', 'claim', request);
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
  expect(claimants.find(({ x }) => x === one.x)).toMatchObject({ holds: [{ id: order.id, epoch: 1 }] });
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
  expect(doubtful.remote).toMatchObject({ claimant: 'test program', x: one.x, principal: 'operator' });
  expect(await one.beat(order, 1)).toMatchObject({ items: [{ state: 'lost' }] });
  expect(await one.end(order, 1, done)).toMatchObject({ status: 'recorded' });
  expect(await stateOf(order)).toBe('applied');
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

test('a claim without the right to its capability, and a forged beat, are refused', async () => {
  const uses = newLabel();
  const one = program(uses);
  await expect(
    system.client.askRaw(
      subjects.api('executor', 'claim'),
      JSON.stringify({ claim: 'x'.repeat(16), claimant: 'nobody', x: one.x, uses: [uses] }),
    ),
  ).rejects.toMatchObject({ code: 'IDENTITY_REQUIRED' });
  const beat = signed({ x: one.x, items: [{ id: orderOf(uses).id, epoch: 1 }] }, program(uses).privateKey);
  await expect(system.client.ask('executor', 'beat', beat)).rejects.toMatchObject({
    code: 'EXECUTOR_CLAIM_SIGNATURE',
  });
});
