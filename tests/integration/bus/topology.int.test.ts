import { consumers, streams } from '@holdpoint/contracts/bus/streams';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { AckPolicy, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, submitSample } from '../../kit/tasks/tasks.ts';
import { untilTrue } from '../../kit/until.ts';

const MS = 1_000_000;

let system: System;
beforeEach(async () => {
  system = await createSystem({ almightyMonitor: true });
});
afterEach(() => system.stop());

test('streams and consumers match their declaration for every user', async () => {
  await system.start('orchestrator');
  const manager = await jetstreamManager(system.client.connection, { checkAPI: false });
  for (const { name, subjects, description, maxAgeMs, maxBytes, duplicateWindowMs } of streams) {
    expect((await manager.streams.info(name)).config).toMatchObject({
      name,
      subjects: [...subjects],
      description,
      max_age: maxAgeMs * MS,
      max_bytes: maxBytes,
      duplicate_window: duplicateWindowMs * MS,
      retention: 'limits',
      discard: 'old',
      compression: 's2',
      deny_delete: true,
    });
  }
  for (const { name, stream, filter, description } of consumers) {
    expect((await manager.consumers.info(stream, name)).config).toMatchObject({
      durable_name: name,
      filter_subject: filter,
      description,
      ack_policy: 'explicit',
    });
  }
});

test('streams of an earlier release are updated and keep their messages', async () => {
  const [, command] = streams;
  const manager = await jetstreamManager(await system.connect('monitor'));
  await manager.streams.add({
    name: command.name,
    subjects: [...command.subjects],
    description: 'as it was',
    max_age: 3_600_000 * MS,
    retention: RetentionPolicy.Limits,
  });
  const reader = consumers.find(({ name }) => name === 'orchestrator-people');
  if (reader === undefined) throw new Error('no consumer of the orchestrator');
  await manager.consumers.add(command.name, {
    durable_name: reader.name,
    filter_subject: reader.filter,
    ack_policy: AckPolicy.Explicit,
    ack_wait: 5_000 * MS,
  });
  // A message that was published before any service existed.
  system.client.connection.publish(
    'hp.cmd.task.submit',
    '{"id":"t-early","workflow":"sample","goal":"early"}',
  );
  await system.startAll();
  await untilTrue('the early submission is taken', async () => {
    const { phase } = await system.client.ask('orchestrator', 'get', { id: 't-early' });
    return phase === 'awaiting_approval';
  });
  expect((await manager.streams.info(command.name)).config).toMatchObject({
    description: command.description,
    max_age: command.maxAgeMs * MS,
    compression: 's2',
  });
  expect((await manager.consumers.info(command.name, reader.name)).config).toMatchObject({
    description: reader.description,
    ack_wait: reader.ackWaitMs * MS,
  });
});

test('services that start before the bus wait for it', async () => {
  await system.nats.kill();
  const starting = SERVICES.map((service) => system.start(service));
  await system.nats.start();
  await Promise.all(starting);
  await approveAndComplete(system.client, await submitSample(system.client));
});
