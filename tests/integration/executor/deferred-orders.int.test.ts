import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EffectEvent } from '@holdpoint/contracts/effect/events';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { filters, subjects } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { grantFor, orderFor, readGrantKey, sampleEffect } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';

let system: System;
beforeAll(async () => {
  system = await createSystem();
});
afterAll(() => system.stop());

const startTarget = async () => {
  const server = createServer((request, response) => {
    request.resume();
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return { origin, stop: () => new Promise((resolve) => server.close(resolve)) };
};

test('a deferred order reports it once per order and begins when the circuit closes', async () => {
  const target = await startTarget();
  await system.start('orchestrator');
  await system.start('recovery');
  await system.start('approvals');
  await system.start('executor', { HOLDPOINT_HTTP_KEYED_TARGETS: target.origin });
  const key = await readGrantKey(system.run.credentialsDir);
  const orderer = await system.connect('orchestrator');
  const effect = sampleEffect({
    uses: 'cap.http.keyed_request',
    args: { method: 'POST', url: `${target.origin}/orders`, body: {} },
    target: target.origin,
  });
  const order = orderFor(effect, grantFor(key, effect));
  const events: EffectEvent[] = [];
  system.client.connection.subscribe(filters.eventsAbout('effect', order.id), {
    callback: (_error, message) => void events.push(EffectEvent.parse(message.json())),
  });
  const eventsOf = (type: EffectEvent['type']) => events.filter((event) => event.type === type);

  await system.client.ask('recovery', 'circuit', {
    target: target.origin,
    state: 'open',
    reason: 'maintenance',
  });
  await publish(orderer, subjects.effectCommand('run', DEFAULT_POOL), JSON.stringify(order));
  expect(await until('it is deferred', () => eventsOf('deferred')[0])).toMatchObject({
    id: order.id,
    attempt: 1,
    target: target.origin,
  });
  // Meanwhile the ledger offers it every few seconds.
  await publish(orderer, subjects.effectCommand('run', DEFAULT_POOL), JSON.stringify(order));
  await untilTrue('it arrives again', () => eventsOf('deferred').length === 2);
  const { state, deferredReason: waits } = await system.client.ask('executor', 'get', { id: order.id });
  expect({ state, waits }).toEqual({ state: 'prepared', waits: `the circuit of ${target.origin} is open` });

  await system.client.ask('recovery', 'circuit', {
    target: target.origin,
    state: 'closed',
    reason: 'done',
  });
  await until('it is applied', () => eventsOf('applied')[0]);
  expect(events.map(({ type }) => type)).toEqual([
    'deferred',
    'deferred',
    'undeferred',
    'started',
    'applied',
  ]);
  await target.stop();
});
