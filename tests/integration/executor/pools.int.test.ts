import type { KeyObject } from 'node:crypto';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { grantFor, orderFor, readGrantKey, sampleEffect } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';

const POOLS = 'default,gpu,tpu';
const FILE = 'orders.txt';

let system: System;
let key: KeyObject;
let orderer: NatsConnection;

beforeAll(async () => {
  system = await createSystem({ pools: POOLS.split(',') });
  await system.start('orchestrator', { HOLDPOINT_DEPLOYMENT_POOLS: POOLS });
  // An executor with a new key waits for its enrolment.
  await system.start('approvals', { HOLDPOINT_DEPLOYMENT_POOLS: POOLS });
  key = await readGrantKey(system.run.credentialsDir);
  orderer = await system.connect('orchestrator');
});
afterAll(() => system.stop());

const order = async (pool: string): Promise<RunEffect> => {
  const effect = sampleEffect();
  // The pool in the body of an order is ignored.
  const given = orderFor(effect, grantFor(key, effect), { pool: 'default' });
  await publish(orderer, subjects.effectCommand('run', pool), JSON.stringify(given));
  return given;
};
const stateOf = async ({ id }: RunEffect): Promise<string | undefined> => {
  try {
    return (await system.client.ask('executor', 'get', { id })).state;
  } catch {
    return undefined;
  }
};
/** Polls one effect after the other, each until it is in the state: repeated polls of hundreds take too long. */
const untilAre = async (orders: readonly RunEffect[], state: string): Promise<void> => {
  for (const each of orders)
    await untilTrue(`${each.id} is ${state}`, async () => {
      const now = await system.client.ask('executor', 'get', { id: each.id });
      if (now.state === state) return true;
      throw new Error(`${each.id} is ${now.state}: ${now.reason ?? 'no reason'}`);
    });
};
const timesApplied = async (orders: readonly RunEffect[]): Promise<readonly number[]> => {
  const counts = await appliedByKey(system.workspace, FILE);
  return orders.map(({ id }) => counts.get(id) ?? 0);
};
const many = async (pools: readonly string[], count: number): Promise<readonly RunEffect[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => order(pools[i % pools.length] ?? 'default')));

test('an executor takes the orders of its pools, and an order for another pool waits for its executor', async () => {
  const plain = await system.start('executor');
  const [mine, other] = [await order('default'), await order('gpu')];
  await untilAre([mine], 'applied');
  expect(await stateOf(other)).toBeUndefined();
  const both = await system.start('executor', { HOLDPOINT_EXECUTOR_POOLS: 'gpu, tpu' });
  const third = await order('tpu');
  await untilAre([mine, other, third], 'applied');
  expect(await timesApplied([mine, other, third])).toEqual([1, 1, 1]);
  await plain.stop();
  await both.stop();
});

test('an executor does not take the ledger entries of another pool', async () => {
  // The executor stops at once, so that some orders are prepared and have not begun.
  const leaving = await system.start('executor', {
    HOLDPOINT_EXECUTOR_POOLS: 'gpu',
    HOLDPOINT_MAX_CONCURRENT_EFFECTS: '1',
  });
  const orders = await many(['gpu'], 200);
  await leaving.stop();
  const plain = await system.start('executor');
  const sentinel = await order('default');
  await untilAre([sentinel], 'applied');
  const next = await system.start('executor', { HOLDPOINT_EXECUTOR_POOLS: 'gpu' });
  await untilAre(orders, 'applied');
  expect(new Set(await timesApplied(orders))).toEqual(new Set([1]));
  await plain.stop();
  await next.stop();
});

test('an executor that stops in the middle of many orders loses none of them', async () => {
  const settings = { HOLDPOINT_EXECUTOR_POOLS: 'default,gpu', HOLDPOINT_MAX_CONCURRENT_EFFECTS: '4' };
  const leaving = await system.spawn('executor', { env: settings });
  await leaving.started();
  const orders = await many(['default', 'gpu'], 300);
  await untilTrue('some are applied', async () =>
    (await Promise.all(orders.slice(0, 5).map(stateOf))).some((state) => state === 'applied'),
  );
  const staying = await system.start('executor', settings);
  expect(await leaving.stop()).toMatchObject({ code: 0 });
  await untilAre(orders, 'applied');
  expect(new Set(await timesApplied(orders))).toEqual(new Set([1]));
  await staying.stop();
});
