import { createServer, type ServerResponse } from 'node:http';
import type { KeyObject } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { CircuitEvent } from '@holdpoint/contracts/recovery/circuit';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { filters, subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { grantFor, orderFor, readGrantKey, sampleEffect } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';

const RUN = subjects.effectCommand('run', DEFAULT_POOL);
const OPEN_MS = '3000';

/** A target that can be away and can delay its answers. */
const startTarget = async () => {
  let mode: 'dead' | 'holding' | 'well' = 'well';
  const held: ServerResponse[] = [];
  const seen: { readonly key: string; readonly mode: string }[] = [];
  const server = createServer((request, response) => {
    seen.push({ key: String(request.headers['idempotency-key']), mode });
    request.resume();
    if (mode === 'dead') response.destroy();
    else if (mode === 'holding') held.push(response);
    else response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    become: (next: typeof mode): void => {
      mode = next;
      if (next === 'well') for (const response of held.splice(0)) response.end('{}');
    },
    seen: (of?: string) => seen.filter((each) => of === undefined || each.mode === of),
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
};

let system: System;
let key: KeyObject;
let orderer: NatsConnection;
let target: Awaited<ReturnType<typeof startTarget>>;
const events: CircuitEvent[] = [];

const settings = () => ({
  HOLDPOINT_HTTP_KEYED_TARGETS: target.origin,
  HOLDPOINT_CIRCUIT_MIN_REQUESTS: '2',
  HOLDPOINT_CIRCUIT_PROBE_AFTER_MS: OPEN_MS,
});
const startRecovery = () => system.start('recovery', { HOLDPOINT_CIRCUIT_OPEN_MS: OPEN_MS });
const startExecutor = () => system.start('executor', settings());

beforeAll(async () => {
  system = await createSystem();
  target = await startTarget();
  await system.start('orchestrator');
  // The recovery service takes reports of executors whose keys the approvals service knows.
  await system.start('approvals');
  key = await readGrantKey(system.run.credentialsDir);
  orderer = await system.connect('orchestrator');
  for (const filter of filters.circuitEvents)
    system.client.connection.subscribe(filter, {
      callback: (_error, msg) => void events.push(msg.json<CircuitEvent>()),
    });
});
afterAll(async () => {
  await system.stop();
  await target.stop();
});

const order = async (): Promise<RunEffect> => {
  const effect = sampleEffect({
    uses: 'cap.http.keyed_request',
    args: { method: 'POST', url: `${target.origin}/orders`, body: { of: 'something' } },
    target: target.origin,
  });
  const given = orderFor(effect, grantFor(key, effect));
  await publish(orderer, RUN, JSON.stringify(given));
  return given;
};
const stateOf = (id: RunEffect['id']) => system.client.ask('executor', 'get', { id });
const circuit = async () =>
  (await system.client.ask('recovery', 'circuits', {})).items.find((each) => each.target === target.origin);
const untilWaiting = (orders: readonly RunEffect[], why: RegExp) =>
  untilTrue('they wait for the circuit', async () => {
    const views = await Promise.all(orders.map(({ id }) => stateOf(id)));
    return views.every(({ deferredReason: waits }) => waits !== undefined && why.test(waits));
  });

test('a circuit of one executor protects all, survives restarts and closes after exactly one probe', async () => {
  const recovery = await startRecovery();
  const first = await startExecutor();
  target.become('dead');
  const orders = [await order(), await order(), await order()];
  await until('the circuit is open', () => events.find(({ type }) => type === 'circuit_opened'));

  // Other executors and restarted services receive the state of the circuit.
  const second: ServiceInProcess = await startExecutor();
  await first.stop();
  await recovery.stop();
  await startRecovery();
  for (let i = 0; i < 10; i += 1) orders.push(await order());
  const third = await startExecutor();
  await untilWaiting(orders, /the circuit of .* is (open|half open)/);
  // Requests after the failure of the target were probes, one at a time.
  const named = events.filter(
    (event) => event.type === 'circuit_half_opened' && event.executor !== undefined,
  );
  const before = orders.slice(0, 3).length;
  expect(target.seen('dead').length).toBeLessThanOrEqual(before + named.length);

  target.become('holding');
  await until('one task probes', () => target.seen('holding')[0]);
  const late = await order();
  await untilWaiting([late], /half open/);
  expect(target.seen('holding')).toHaveLength(1);
  const tried = await circuit();
  expect([tried?.state, typeof tried?.executor]).toEqual(['half_open', 'string']);

  target.become('well');
  const all = [...orders, late];
  await untilTrue('all are applied', async () =>
    (await Promise.all(all.map(({ id }) => stateOf(id)))).every(({ state }) => state === 'applied'),
  );
  const opened = events.findIndex(({ type }) => type === 'circuit_opened');
  expect(events.slice(opened).map(({ type }) => type)).toContain('circuit_closed');
  expect(await circuit()).toMatchObject({ state: 'closed' });
  // Each order got one answer, whether it was deferred or not.
  const answered = [...target.seen('holding'), ...target.seen('well')].map((each) => each.key);
  expect(answered.toSorted()).toEqual(all.map(({ id }) => id).toSorted());
  // Either of the two may have taken all orders.
  const metrics = await Promise.all(
    [second, third].map(async ({ httpPort }) =>
      (await fetch(`http://127.0.0.1:${String(httpPort)}/metrics`)).text(),
    ),
  );
  expect(metrics.join('\n')).toContain('holdpoint_circuit_state');
});

test('an operator opens and closes a circuit, and nothing is sent in between', async () => {
  target.become('well');
  const before = target.seen().length;
  const set = (state: 'open' | 'closed') =>
    system.client.ask('recovery', 'circuit', {
      target: target.origin,
      state,
      reason: 'they move',
    });
  expect(await set('open')).toMatchObject({ state: 'open', by: 'operator' });
  await untilTrue('it is reported', () => events.at(-1)?.type === 'circuit_opened');
  const orders = [await order(), await order()];
  await untilWaiting(orders, /is open/);
  expect(target.seen()).toHaveLength(before);
  expect(await set('closed')).toMatchObject({ state: 'closed', by: 'operator' });
  await untilTrue('both are applied', async () =>
    (await Promise.all(orders.map(({ id }) => stateOf(id)))).every(({ state }) => state === 'applied'),
  );
  expect(target.seen()).toHaveLength(before + 2);
});
