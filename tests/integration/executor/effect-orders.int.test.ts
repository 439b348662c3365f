import type { KeyObject } from 'node:crypto';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { effectIdOf } from '@holdpoint/contracts/values/ids';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { filters, subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publish, untilHandled } from '../../kit/bus/consumers.ts';
import { type DeadLetters, watchDeadLetters } from '../../kit/bus/dead-letters.ts';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { grantFor, orderFor, readGrantKey, sampleEffect, strangersKey } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';

const RUN = subjects.effectCommand('run', DEFAULT_POOL);
const CANCEL = subjects.effectCommand('cancel', DEFAULT_POOL);
const FILE = 'orders.txt';

let system: System;
let key: KeyObject;
let letters: DeadLetters;
/** The only user that may order effects. */
let orderer: NatsConnection;
const events: EffectEvent[] = [];

beforeAll(async () => {
  system = await createSystem();
  // The orchestrator only creates the streams: the test sends the orders. The approvals service answers
  // that it does not know strange keys.
  await Promise.all([system.start('orchestrator'), system.start('executor'), system.start('approvals')]);
  key = await readGrantKey(system.run.credentialsDir);
  orderer = await system.connect('orchestrator');
  letters = watchDeadLetters(system.client.connection);
  system.client.connection.subscribe(filters.eventsOf('effect'), {
    callback: (_error, msg) => void events.push(msg.json<EffectEvent>()),
  });
  await untilHandled(system.client.connection);
});
afterAll(() => system.stop());

const give = (order: object, id?: string) =>
  publish(orderer, RUN, JSON.stringify(order), id === undefined ? {} : { id });
const eventsOf = (id: string): readonly EffectEvent[] => events.filter((event) => event.id === id);
const outcomeOf = ({ id }: RunEffect) =>
  until(`${id} has an outcome`, () =>
    eventsOf(id).find(({ type }) => type !== 'started' && type !== 'prepared'),
  );
const timesApplied = async ({ id }: RunEffect): Promise<number> =>
  (await appliedByKey(system.workspace, FILE)).get(id) ?? 0;
const ledger = (id: RunEffect['id']) => system.client.ask('executor', 'get', { id });

describe('an order', () => {
  test('an order with a grant for exactly its effect is executed', async () => {
    const effect = sampleEffect();
    const order = orderFor(effect, grantFor(key, effect));
    await give(order);
    expect(await outcomeOf(order)).toMatchObject({
      type: 'applied',
      outputs: { key: order.id, repeated: false },
    });
    expect(await timesApplied(order)).toBe(1);
    expect(await ledger(order.id)).toMatchObject({ state: 'applied', starts: 1 });
  });

  const effect = sampleEffect;
  const wrong: readonly (readonly [string, () => RunEffect, string])[] = [
    [
      'without a grant',
      () => {
        const { grant: _, ...order } = orderFor(effect(), 'x');
        return order;
      },
      'EXECUTOR_GRANT_INVALID',
    ],
    ['with a malformed grant', () => orderFor(effect(), 'approved'), 'EXECUTOR_GRANT_INVALID'],
    [
      'with a grant under a foreign signature',
      () => {
        const forged = effect();
        return orderFor(forged, grantFor(strangersKey(), forged));
      },
      'EXECUTOR_GRANT_INVALID',
    ],
    [
      'with a grant whose claims were changed',
      () => {
        const [mine, others] = [effect(), effect()];
        const [header, , signature] = grantFor(key, others).split('.');
        const claims = grantFor(key, mine).split('.')[1];
        return orderFor(mine, [header, claims, signature].join('.'));
      },
      'EXECUTOR_GRANT_INVALID',
    ],
    [
      'with a grant of the algorithm none',
      () => {
        const mine = effect();
        const [, claims] = grantFor(key, mine).split('.');
        return orderFor(mine, `${Buffer.from('{"alg":"none"}').toString('base64url')}.${String(claims)}.`);
      },
      'EXECUTOR_GRANT_INVALID',
    ],
    [
      'with a grant that has expired',
      () => {
        const mine = effect();
        return orderFor(mine, grantFor(key, mine, { exp: Math.floor(Date.now() / 1_000) - 1 }));
      },
      'EXECUTOR_GRANT_EXPIRED',
    ],
    [
      'with other arguments than were approved',
      () => {
        const approved = effect();
        return orderFor(
          { ...approved, args: { ...approved.args, line: 'another line' } },
          grantFor(key, approved),
        );
      },
      'EXECUTOR_DIGEST_MISMATCH',
    ],
    [
      'that claims the approved digest',
      () => {
        const approved = effect();
        const { digest } = orderFor(approved, 'x');
        const other = { ...approved, args: { ...approved.args, line: 'another line' } };
        return orderFor(other, grantFor(key, approved), { digest });
      },
      'EXECUTOR_DIGEST_MISMATCH',
    ],
    [
      'with the grant of another task',
      () => orderFor(effect(), grantFor(key, effect())),
      'EXECUTOR_DIGEST_MISMATCH',
    ],
    [
      'under the id of another effect',
      () => {
        const mine = effect();
        const id = effectIdOf(mine.task, mine.node, 'another key');
        return orderFor(mine, grantFor(key, mine), { id });
      },
      'EXECUTOR_GRANT_MISMATCH',
    ],
    [
      'of an effect class that its capability does not have',
      () => {
        const mine = effect({ effectClass: 'idempotent' });
        return orderFor(mine, grantFor(key, mine));
      },
      'EXECUTOR_CLASS_MISMATCH',
    ],
    [
      'for an unknown capability',
      () => {
        const mine = effect({ uses: 'cap.no.such' });
        return orderFor(mine, grantFor(key, mine));
      },
      'EXECUTOR_UNKNOWN_CAPABILITY',
    ],
  ];

  test.each(wrong)('an order %s is refused, recorded and not executed', async (_how, make, code) => {
    const order = make();
    await give(order);
    expect(await outcomeOf(order)).toMatchObject({ type: 'refused', error: { code } });
    expect(await ledger(order.id)).toMatchObject({ state: 'refused', starts: 0 });
    expect(await timesApplied(order)).toBe(0);
    await untilHandled(system.client.connection);
    expect(eventsOf(order.id).map(({ type }) => type)).toEqual(['refused']);
  });

  test.each([
    ['with a path out of the workspace', { file: '../outside.txt', line: 'x' }, 'EXECUTOR_INVALID_ARGUMENTS'],
    ['with an absolute path', { file: '/tmp/outside.txt', line: 'x' }, 'EXECUTOR_INVALID_ARGUMENTS'],
    ['with arguments that the capability does not know', { path: FILE }, 'EXECUTOR_INVALID_ARGUMENTS'],
    ['with a line break in a line', { file: FILE, line: 'a\nb' }, 'EXECUTOR_INVALID_ARGUMENTS'],
  ])('an approved order %s fails as certainly not applied', async (_how, args, code) => {
    const mine = sampleEffect({ args, target: `file:${'file' in args ? args.file : FILE}` });
    const order = orderFor(mine, grantFor(key, mine));
    await give(order);
    expect(await outcomeOf(order)).toMatchObject({ type: 'failed_clean', error: { code } });
    expect(await timesApplied(order)).toBe(0);
  });

  test('an order without an effect is a dead letter', async () => {
    const { effect: _, ...order } = orderFor(sampleEffect(), 'x');
    await give(order, 'order-without-effect');
    expect(await letters.next('order-without-effect')).toMatchObject({
      service: 'executor',
      subject: RUN,
      reason: { code: 'CONTRACT_INVALID', message: expect.stringContaining('effect') as string },
    });
  });

  test('the bus refuses an order of an unknown kind', async () => {
    const unknown = subjects.effectCommand('repeat', DEFAULT_POOL);
    await expect(publish(orderer, unknown, '{}', { id: 'order-unknown' })).rejects.toThrow(
      `Permissions Violation for Publish to "${unknown}"`,
    );
  });
});

describe('a repeated order', () => {
  test('a repeated order gets the recorded outcome and is not executed again', async () => {
    const mine = sampleEffect();
    const order = orderFor(mine, grantFor(key, mine));
    await give(order);
    await outcomeOf(order);
    const { epoch } = await ledger(order.id);
    for (let repeat = 1; repeat <= 3; repeat += 1) {
      await give(order);
      await untilTrue(
        'it is answered again',
        () => eventsOf(order.id).filter(({ type }) => type === 'applied').length === repeat + 1,
      );
    }
    expect(await ledger(order.id)).toMatchObject({ state: 'applied', epoch, starts: 1 });
    expect(await timesApplied(order)).toBe(1);
  });

  test('an order that arrives many times at once is executed once', async () => {
    const mine = sampleEffect();
    const order = orderFor(mine, grantFor(key, mine));
    await Promise.all(Array.from({ length: 20 }, () => give(order)));
    await outcomeOf(order);
    await untilHandled(system.client.connection);
    expect(await ledger(order.id)).toMatchObject({ state: 'applied', starts: 1 });
    expect(await timesApplied(order)).toBe(1);
  });

  test('another effect under the same key is refused, and the outcome stands', async () => {
    const mine = sampleEffect();
    const order = orderFor(mine, grantFor(key, mine));
    await give(order);
    await outcomeOf(order);
    const other = { ...mine, args: { file: FILE, line: 'another line' } };
    const second = orderFor(other, grantFor(key, other), { attempt: 2 });
    expect(second.id).toBe(order.id);
    await give(second);
    const refusal = await until('it is refused', () =>
      eventsOf(order.id).find(({ type }) => type === 'refused'),
    );
    expect(refusal).toMatchObject({ error: { code: 'ERR_IDEMPOTENCY_CONFLICT' } });
    expect(await ledger(order.id)).toMatchObject({ state: 'applied', digest: order.digest });
    expect(await timesApplied(order)).toBe(1);
  });

  test('an order with a valid grant is executed after a forged one', async () => {
    const mine = sampleEffect();
    const forged = orderFor(mine, grantFor(strangersKey(), mine));
    await give(forged);
    expect(await outcomeOf(forged)).toMatchObject({ type: 'refused' });
    const order = orderFor(mine, grantFor(key, mine));
    await give(order);
    await untilTrue('it is applied', () => eventsOf(order.id).some(({ type }) => type === 'applied'));
    expect(await timesApplied(order)).toBe(1);
  });
});

describe('a cancellation', () => {
  test('a cancellation before its order prevents it', async () => {
    const mine = sampleEffect();
    const order = orderFor(mine, grantFor(key, mine));
    const { task, node } = mine;
    await publish(
      orderer,
      CANCEL,
      JSON.stringify({ id: order.id, task, node, attempt: 1, reason: 'too early' }),
    );
    expect(await outcomeOf(order)).toMatchObject({ type: 'cancelled' });
    await give(order);
    await untilTrue('the order is answered', () => eventsOf(order.id).length === 2);
    await untilHandled(system.client.connection);
    expect(eventsOf(order.id).map(({ type }) => type)).toEqual(['cancelled', 'cancelled']);
    expect(await timesApplied(order)).toBe(0);
  });

  test('a cancellation after the effect changes nothing', async () => {
    const mine = sampleEffect();
    const order = orderFor(mine, grantFor(key, mine));
    await give(order);
    await outcomeOf(order);
    const { task, node } = mine;
    await publish(
      orderer,
      CANCEL,
      JSON.stringify({ id: order.id, task, node, attempt: 1, reason: 'too late' }),
    );
    await untilHandled(system.client.connection);
    expect(await ledger(order.id)).toMatchObject({ state: 'applied' });
  });
});
