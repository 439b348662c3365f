import type { KeyObject } from 'node:crypto';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publish, untilHandled } from '../../kit/bus/consumers.ts';
import { ledgerOf, stateOf } from '../../kit/effects/counted.ts';
import { grantFor, orderFor, readGrantKey, sampleEffect } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';
import { spawnVictim } from '../../kit/effects/crashing-service.ts';
import { startWitness, targetsOf, type Witness } from '../../kit/effects/counted-target.ts';

const RUN = subjects.effectCommand('run', DEFAULT_POOL);

let witness: Witness;
beforeAll(async () => {
  witness = await startWitness();
});
afterAll(() => witness.stop());

/** The sender of the orders, which receives their outcomes. */
type OrderSender = {
  readonly system: System;
  readonly approved: (of: 'opaque' | 'keyed') => RunEffect;
  readonly give: (order: RunEffect) => Promise<unknown>;
  readonly untilApplied: (orders: readonly RunEffect[]) => Promise<true>;
  readonly is: (order: RunEffect) => Promise<string>;
};

const createOrderSender = (system: System, key: KeyObject, orderer: NatsConnection): OrderSender => {
  const is: OrderSender['is'] = ({ id }) => stateOf(system, { effect: id });
  let messages = 0;
  return {
    system,
    is,
    approved: (of) => {
      const shape: Partial<CanonicalEffect> = {
        uses: of === 'opaque' ? 'cap.http.request' : 'cap.http.keyed_request',
        args: { method: 'POST', url: `${witness.origin}/${of}/once` },
        effectClass: of,
        target: witness.origin,
      };
      const effect = sampleEffect(shape);
      return orderFor(effect, grantFor(key, effect));
    },
    give: (order) => {
      messages += 1;
      const id = `given-${String(messages)}`;
      return publish(orderer, RUN, JSON.stringify(order), { id, messageId: id });
    },
    untilApplied: (orders) =>
      untilTrue('all are applied', async () => {
        const states = await Promise.all(orders.map(is));
        if (states.every((state) => state === 'applied')) return true;
        throw new Error(`the effects are ${states.join(', ')}`);
      }),
  };
};

const withOrderSender = async (work: (sender: OrderSender) => Promise<void>): Promise<void> => {
  const system = await createSystem({ shortResends: true });
  try {
    // The orchestrator only creates the streams: the test sends the orders. The approvals service vouches for the
    // keys with which executors seal their answers.
    await Promise.all([system.start('orchestrator'), system.start('approvals')]);
    const key = await readGrantKey(system.run.credentialsDir);
    await work(createOrderSender(system, key, await system.connect('orchestrator')));
  } finally {
    await system.stop();
  }
};

const expectOnce = async ({ is }: OrderSender, orders: readonly RunEffect[]): Promise<void> => {
  for (const order of orders) {
    expect(await witness.applications(order.id)).toBe(1);
    expect(await witness.requests(order.id)).toBe(1);
    expect(await is(order)).toBe('applied');
  }
};

describe.concurrent('an order', () => {
  test('an order that arrives three hundred times under other message ids and attempts is executed once', () =>
    withOrderSender(async (sender) => {
      const { system, approved, give, untilApplied } = sender;
      await Promise.all([
        system.start('executor', targetsOf(witness)),
        system.start('executor', targetsOf(witness)),
      ]);
      const orders = [approved('opaque'), approved('keyed')];
      // The ledger records at most 100 prevented attempts of an effect: the copies leave room for a later one.
      const copies = orders.flatMap((order) =>
        Array.from({ length: 300 }, (_, at): RunEffect => ({ ...order, attempt: 1 + (at % 50) })),
      );
      await Promise.all(copies.map(give));
      await untilApplied(orders);
      await untilHandled(system.client.connection, ['orchestrator', 'executor']);
      await expectOnce(sender, orders);
      // An order after the end is recorded as a duplicate.
      for (const order of orders) await give({ ...order, attempt: 101 });
      await untilHandled(system.client.connection, ['orchestrator', 'executor']);
      await expectOnce(sender, orders);
      for (const { id } of orders)
        expect(await ledgerOf(system, { effect: id })).toContainEqual(
          expect.objectContaining({ type: 'duplicate_prevented', attempt: 101, outcome: 'applied' }),
        );
    }));

  test('an order for which two executors race is executed by one of them', () =>
    withOrderSender(async (sender) => {
      const { system, approved, give, untilApplied } = sender;
      const racers = await Promise.all([
        spawnVictim(system, 'executor', undefined, targetsOf(witness)),
        spawnVictim(system, 'executor', undefined, targetsOf(witness)),
      ]);
      await Promise.all(racers.map(({ started }) => started()));
      const orders = Array.from({ length: 60 }, (_, at) => approved(at % 2 === 0 ? 'opaque' : 'keyed'));
      // Enough copies for both executors to get some of each.
      for (let attempt = 1; attempt <= 8; attempt += 1)
        await Promise.all(orders.map((order) => give({ ...order, attempt })));
      await untilApplied(orders);
      await untilHandled(system.client.connection, ['orchestrator', 'executor']);
      await expectOnce(sender, orders);
    }));

  test('an order that is redelivered after its outcome and a kill of the executor is not executed again', () =>
    withOrderSender(async (sender) => {
      const { system, approved, give, untilApplied } = sender;
      const before = await system.start('executor', targetsOf(witness));
      const orders = [approved('opaque'), approved('keyed')];
      await Promise.all(orders.map(give));
      await untilApplied(orders);
      await before.stop();
      const victim = await spawnVictim(system, 'executor', 'after_commit:1', targetsOf(witness));
      await victim.started();
      await Promise.all(orders.map((order) => give({ ...order, attempt: 2 })));
      await victim.isDead();
      await victim.started();
      // The bus redelivers unacknowledged orders.
      await untilHandled(system.client.connection, ['orchestrator', 'executor']);
      await expectOnce(sender, orders);
    }));
});
