import { describe, expect, test } from 'vitest';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { spawnVictim, type Step } from '../../kit/effects/crashing-service.ts';
import { createSystem } from '../../kit/stack/system.ts';
import { approveAndComplete, submitSample } from '../../kit/tasks/tasks.ts';

const STEPS: readonly Step[] = [
  'before_commit:2',
  'after_commit:2',
  'after_publish:2',
  'after_ack:2',
  'before_commit:3',
  'after_commit:3',
  'after_publish:3',
  'after_ack:3',
];

/** Of the log. Above are warnings and errors. */
const INFO = 30;

describe.concurrent('a process that runs the core', () => {
  test.each(STEPS)(
    'a gated task completes, and its effect is applied once, when the core is killed at %s',
    async (step) => {
      const system = await createSystem({ shortTimers: true });
      try {
        await system.start('executor');
        const core = await spawnVictim(system, 'core', step);
        const task = await submitSample(system.client);
        await approveAndComplete(system.client, task);
        await core.isDead();
        expect((await appliedByKey(system.workspace)).get(task.effect)).toBe(1);
      } finally {
        await system.stop();
      }
    },
  );

  test('tasks go on when the core becomes three processes, and one again', async () => {
    const system = await createSystem({ shortTimers: true });
    try {
      await system.start('executor');
      const core = await system.spawn('core');
      const [first, second] = [await submitSample(system.client), await submitSample(system.client)];
      await core.stop();
      const apart = [];
      for (const service of ['orchestrator', 'approvals', 'recovery'] as const)
        apart.push(await system.start(service));
      await approveAndComplete(system.client, first);
      const third = await submitSample(system.client);
      for (const service of apart) await service.stop();
      await system.spawn('core');
      for (const task of [second, third]) await approveAndComplete(system.client, task);
      const applied = await appliedByKey(system.workspace);
      expect([first, second, third].map(({ effect }) => applied.get(effect))).toEqual([1, 1, 1]);
    } finally {
      await system.stop();
    }
  });

  test('the first start on an empty bus and database has nothing to warn about', async () => {
    const system = await createSystem();
    try {
      const processes = [await system.spawn('executor'), await system.spawn('core')];
      for (const process of processes) await process.started();
      await approveAndComplete(system.client, await submitSample(system.client));
      for (const process of processes) await process.stop();
      const lines = (await Promise.all(processes.map((process) => process.lines()))).flat();
      expect(lines.filter(({ msg }) => msg === 'service stopped')).toHaveLength(4);
      expect(lines.filter(({ level }) => level > INFO)).toEqual([]);
    } finally {
      await system.stop();
    }
  });

  test('a service of its own beside the core takes over, and gives the service back', async () => {
    const system = await createSystem({ shortTimers: true });
    try {
      await system.start('executor');
      const orchestrator = await system.start('orchestrator');
      const core = await system.spawn('core');
      const [first, second] = [await submitSample(system.client), await submitSample(system.client)];
      await approveAndComplete(system.client, first);
      await orchestrator.stop();
      await approveAndComplete(system.client, second);
      const applied = await appliedByKey(system.workspace);
      expect([first, second].map(({ effect }) => applied.get(effect))).toEqual([1, 1]);
      await core.stop();
    } finally {
      await system.stop();
    }
  });
});
