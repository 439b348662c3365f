import { execFile } from 'node:child_process';
import { mkdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { effectIdOf } from '@holdpoint/contracts/values/ids';
import type { StepInput } from '@holdpoint/contracts/task/step';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { filters, subjects } from '@holdpoint/contracts/bus/subjects';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { keepTopology } from '@holdpoint/runtime/bus/keep-topology';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceProcess } from '../../kit/stack/as-process.ts';
import { publish } from '../../kit/bus/consumers.ts';
import { sampleEffect } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';

const run = promisify(execFile);

let system: System;
let orderer: NatsConnection;
let repository: string;
let executor: ServiceProcess;

beforeAll(async () => {
  system = await createSystem({ shortTimers: true });
  const folder = join(await realpath(system.folder), 'repositories');
  repository = join(folder, 'app');
  await mkdir(repository, { recursive: true });
  await run('git', ['init', '--quiet', '--initial-branch=main', repository]);
  const keeper = await keepTopology({ connection: await system.connect('topology'), log: silentLogger() });
  // An executor with a new key waits for its enrolment.
  await system.start('approvals');
  executor = await system.spawn('executor', { env: { HOLDPOINT_REPOSITORIES: folder } });
  await executor.started();
  keeper.stop();
  orderer = await system.connect('orchestrator');
});
afterAll(() => system.stop());

/** Endless work that records each of its starts. */
const endless = (name: string): RunEffect => {
  const input = {
    with: { command: `echo start >> ${name}; sleep 600` },
    repository,
    context: {},
  } satisfies StepInput;
  const effect = sampleEffect({
    uses: 'cap.env.shell.command.run',
    args: input,
    kind: 'work',
    effectClass: 'idempotent',
    target: 'work',
    idempotencyKey: name,
  });
  const id = effectIdOf(effect.task, effect.node, effect.idempotencyKey);
  return { id, attempt: 1, effect, digest: effectDigest(effect) };
};

const startsIn = async (name: string): Promise<number> =>
  (await readFile(join(repository, name), 'utf8').catch(() => '')).split('\n').length - 1;

/** Kills the executor each time the work has begun, so many times, and returns the in-doubt questions. */
const endEach = async (name: string, signal: NodeJS.Signals, times: number) => {
  const order = endless(name);
  const doubts = new Map<number, string>();
  const subscription = system.client.connection.subscribe(filters.eventsAbout('effect', order.id), {
    callback: (_error, message) => {
      const event = EffectEvent.parse(message.json());
      if (event.type === 'in_doubt') doubts.set(event.epoch, `${String(event.cause)}, ${event.next}`);
    },
  });
  await executor.started();
  await publish(orderer, subjects.effectCommand('run', DEFAULT_POOL), JSON.stringify(order));
  for (let count = 1; count <= times; count += 1) {
    await untilTrue(`start ${String(count)}`, async () => (await startsIn(name)) >= count);
    const lives = executor.exits().length;
    executor.signal(signal);
    await untilTrue('the executor has ended', () => executor.exits().length > lives);
    await untilTrue(`in doubt ${String(count)}`, () => doubts.size >= count);
  }
  subscription.unsubscribe();
  await executor.started();
  return { order, doubts: [...doubts.values()] };
};

test('work that kills its executor three times is stopped, and a person decides', async () => {
  const { order, doubts } = await endEach('kills', 'SIGKILL', 3);
  expect(doubts).toEqual(['worker_lost, repeat', 'worker_lost, repeat', 'worker_lost, person']);
  const { state, next } = await system.client.ask('executor', 'get', { id: order.id });
  expect({ state, next, starts: await startsIn('kills') }).toEqual({
    state: 'in_doubt',
    next: 'person',
    starts: 3,
  });
});

test('repeated stops of an executor lose nothing', async () => {
  const { doubts } = await endEach('stops', 'SIGTERM', 4);
  expect(doubts).toEqual(Array.from({ length: 4 }, () => 'outcome_unknown, repeat'));
});
