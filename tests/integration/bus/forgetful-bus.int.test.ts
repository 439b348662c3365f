import { consumers, streams } from '@holdpoint/contracts/bus/streams';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { approveCrowd, expectAllDoneOnce, keepBusy, submitCrowd } from '../../kit/tasks/bulk-tasks.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { submitSample } from '../../kit/tasks/tasks.ts';
import { untilTrue } from '../../kit/until.ts';

let system: System;
beforeAll(async () => {
  system = await createSystem({ almightyMonitor: true, shortResends: true });
  await system.startAll();
});
afterAll(() => system.stop());

const CROWD = 30;

const manage = async () => jetstreamManager(await system.connect('monitor'), { checkAPI: false });

describe('after the loss of all JetStream data', () => {
  test('tasks that wait at their gates complete once they are approved', async () => {
    const tasks = await submitCrowd(system, CROWD);
    await system.nats.wipe();
    await approveCrowd(system, tasks);
    await expectAllDoneOnce(system, tasks);
  });

  test('every accepted task completes under load', async () => {
    const waiting = await submitCrowd(system, CROWD);
    const stopWork = keepBusy(system);
    await system.nats.wipe();
    await approveCrowd(system, waiting);
    await expectAllDoneOnce(system, [...waiting, ...(await stopWork())]);
  });

  test('tasks complete when the loss follows right after their approval', async () => {
    const tasks = await submitCrowd(system, CROWD);
    await approveCrowd(system, tasks);
    await system.nats.wipe();
    await expectAllDoneOnce(system, tasks);
  });
});

test('every accepted task completes after the server was killed under load', async () => {
  const stopWork = keepBusy(system);
  for (let kill = 0; kill < 3; kill += 1) {
    await system.nats.kill();
    await system.nats.start();
    await approveCrowd(system, [await submitSample(system.client)]);
  }
  await expectAllDoneOnce(system, await stopWork());
});

describe('after a deletion on the bus', () => {
  const isBack = async (stream: string, name?: string): Promise<boolean> => {
    const manager = await jetstreamManager(system.client.connection, { checkAPI: false });
    return (name === undefined ? manager.streams.info(stream) : manager.consumers.info(stream, name)).then(
      () => true,
      () => false,
    );
  };

  test.each(streams.map(({ name }) => name))(
    'the deleted stream %s is created again, and the tasks complete',
    async (name) => {
      const tasks = await submitCrowd(system, 5);
      expect(await (await manage()).streams.delete(name)).toBe(true);
      await approveCrowd(system, tasks);
      await expectAllDoneOnce(system, tasks);
      await untilTrue(`${name} is back`, () => isBack(name));
    },
  );

  test.each(consumers.map(({ stream, name }) => [name, stream] as const))(
    'the deleted consumer %s of %s is created again, and the tasks complete',
    async (name, stream) => {
      const tasks = await submitCrowd(system, 5);
      expect(await (await manage()).consumers.delete(stream, name)).toBe(true);
      await approveCrowd(system, tasks);
      await expectAllDoneOnce(system, tasks);
      await untilTrue(`${name} is back`, () => isBack(stream, name));
    },
  );
});
