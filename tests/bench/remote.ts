import { readFile } from 'node:fs/promises';
import type { Client } from '@holdpoint/cli/bus/client';
import { ApprovalRequested } from '@holdpoint/contracts/approval/events';
import { layout } from '@holdpoint/infra/credentials/layout';
import type { RunningStack } from '@holdpoint/infra/local/stack';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { connectOverHttp, defineEffect, type RemoteConnection, startClaimant } from '@holdpoint/sdk/http';
import { remoteOverNats } from '@holdpoint/sdk/index';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { connectOrders, EffectMeasurement } from './effects.ts';
import { type Percentiles, percentiles, round } from './report/percentiles.ts';

const NAME = 'bench_noop';
const LABEL = `cap.remote.${NAME}`;
const HELD = 'bench_held';
const WARM_UP_SECONDS = 3;
/** Orders under way for each claimant. */
const ORDERS_EACH = 4;

type Orders = Awaited<ReturnType<typeof connectOrders>>;
type Transport = 'nats' | 'http';

export type RemoteMeasurement = Omit<EffectMeasurement, 'measurement'> & {
  readonly measurement: 'remote effects';
  readonly over: Transport;
  readonly claimants: number;
  /** From the publish of the order to the call of the function. */
  readonly orderToStartMs: Percentiles;
};

export type RemoteOptions = {
  readonly claimants: number;
  readonly idle: number;
  readonly seconds: number;
  /** Approves the effects that are held, one at a time. */
  readonly client: Client;
  /** CPU seconds of the deployment so far, and of this process, which runs the claimants. */
  readonly cpu: () => Promise<Readonly<Record<string, number>>>;
};

/** From the decision, as it is sent, to the call of the function: one held effect at a time. */
const measureApprovals = async (
  client: Client,
  /** Registers the function and holds its effects. */
  holder: RemoteConnection,
  connection: RemoteConnection,
  seconds: number,
): Promise<readonly number[]> => {
  const decidedAt = new Map<string, number>();
  const durations: number[] = [];
  let started = (): void => undefined;
  const held = defineEffect({
    name: HELD,
    kind: 'other',
    effectClass: 'idempotent',
    target: 'nothing',
    input: z.object({ number: z.string() }),
    key: ({ number }) => number,
    run: (_, { task }) => {
      durations.push(performance.now() - (decidedAt.get(task) ?? Number.NaN));
      started();
      return {};
    },
  });
  await holder.register(held.definition);
  const requests = client.connection.subscribe('hp.evt.approval.requested.*', {
    callback: (_, msg) => {
      const { id, task, digest } = ApprovalRequested.parse(msg.json());
      decidedAt.set(task, performance.now());
      void client.call('approvals', 'decide', { id, decision: 'approve', digest });
    },
  });
  const claimant = startClaimant({ connection, effects: [held], signals: false, log: () => undefined });
  await claimant.ready;
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    const start = new Promise<void>((resolve) => (started = resolve));
    const handle = await held.hold(holder, { number: crypto.randomUUID() });
    await start;
    await handle.wait();
  }
  requests.unsubscribe();
  await claimant.stop();
  return durations;
};

/** Effects of programs: one order at a time for the latency, then as many as the claimants take, then idle claimants. */
export const measureRemote = async (
  orders: Orders,
  { natsUrl, credentialsDir, ports }: RunningStack,
  { claimants, idle, seconds, client, cpu }: RemoteOptions,
  print: (measurement: object) => void,
): Promise<void> => {
  const token = (await readFile(layout(credentialsDir).operatorToken, 'utf8')).trim();
  const open = (user: 'operator' | 'worker') => connectAs({ url: natsUrl, credentialsDir, user });
  const [operator, worker] = await Promise.all([open('operator'), open('worker')]);
  const connections: Readonly<Record<Transport, RemoteConnection>> = {
    nats: remoteOverNats({ connection: worker, token }),
    http: connectOverHttp({ url: `http://127.0.0.1:${String(ports.approvals)}`, token }),
  };
  const starts: number[] = [];
  const noop = defineEffect({
    name: NAME,
    kind: 'other',
    effectClass: 'idempotent',
    target: 'nothing',
    input: z.object({}),
    key: () => 'once',
    run: (_, { id }) => {
      const sent = orders.sentAt(id);
      if (sent !== undefined) starts.push(performance.now() - sent);
      return {};
    },
  });
  const holder = remoteOverNats({ connection: operator, token });
  await holder.register(noop.definition);

  const withClaimants = async (over: Transport, count: number, work: () => Promise<void>): Promise<void> => {
    const started = Array.from({ length: count }, () =>
      startClaimant({ connection: connections[over], effects: [noop], signals: false, log: () => undefined }),
    );
    await Promise.all(started.map(({ ready }) => ready));
    await work();
    await Promise.all(started.map((claimant) => claimant.stop()));
  };

  const measure = async (over: Transport, atOnce: number): Promise<void> => {
    starts.length = 0;
    const measured = await orders.measure(atOnce, seconds, LABEL);
    const result: RemoteMeasurement = {
      ...measured,
      measurement: 'remote effects',
      over,
      claimants,
      orderToStartMs: percentiles(starts),
    };
    print(result);
  };

  for (const over of ['nats', 'http'] as const)
    await withClaimants(over, claimants, async () => {
      await orders.measure(claimants, WARM_UP_SECONDS, LABEL);
      await measure(over, 1);
      await measure(over, claimants * ORDERS_EACH);
    });
  for (const over of ['nats', 'http'] as const) {
    await measureApprovals(client, holder, connections[over], WARM_UP_SECONDS);
    const durations = await measureApprovals(client, holder, connections[over], seconds);
    print({
      measurement: 'held effects',
      over,
      held: durations.length,
      approveToStartMs: percentiles(durations),
    });
  }
  for (const over of ['nats', 'http'] as const)
    await withClaimants(over, idle, async () => {
      await delay(WARM_UP_SECONDS * 1_000);
      const before = await cpu();
      await delay(seconds * 1_000);
      const after = await cpu();
      const percent = Object.fromEntries(
        Object.entries(after).map(([name, used]) => [
          name,
          round(((used - (before[name] ?? 0)) / seconds) * 100, 2),
        ]),
      );
      print({ measurement: 'idle claimants', over, claimants: idle, percentOfCore: percent });
    });
  await Promise.all([operator.close(), worker.close()]);
};
