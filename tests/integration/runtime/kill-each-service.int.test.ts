import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { describe, expect, test } from 'vitest';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { spawnVictim, type Step } from '../../kit/effects/crashing-service.ts';
import { createSystem } from '../../kit/stack/system.ts';
import { approve, approveAndComplete, submitSample, waitForPhase } from '../../kit/tasks/tasks.ts';

/** The services of a gated task, and the commit at which the first life of each ends. */
const KILLS: readonly (readonly [service: 'orchestrator' | 'approvals' | 'executor', Step])[] = [
  ['orchestrator', 'after_commit:2'],
  ['approvals', 'before_commit:2'],
  ['executor', 'after_commit:2'],
];

describe.concurrent('a gated task completes and its effect is applied once', () => {
  test.each(KILLS)(
    'a gated task completes and its effect is applied once when the %s service is killed at %s',
    async (service, step) => {
      const system = await createSystem({ shortTimers: true });
      try {
        await Promise.all(SERVICES.filter((each) => each !== service).map((each) => system.start(each)));
        const victim = await spawnVictim(system, service, step);
        const task = await submitSample(system.client);
        await approveAndComplete(system.client, task);
        await victim.isDead();
        expect((await appliedByKey(system.workspace)).get(task.effect)).toBe(1);
      } finally {
        await system.stop();
      }
    },
  );
});

test('a failed attempt gets its verdict, and the task completes, when recovery is killed at before_commit:1', async () => {
  const system = await createSystem({ shortTimers: true });
  try {
    await Promise.all(SERVICES.filter((each) => each !== 'recovery').map((each) => system.start(each)));
    // A file stands in the place of the folder, so the first attempt certainly fails.
    await writeFile(join(system.workspace, 'inside'), '');
    const file = 'inside/sample.txt';
    const task = await submitSample(system.client, file);
    await approve(system.client, task);
    await waitForPhase(system.client, task.id, 'recovering');
    await rm(join(system.workspace, 'inside'));
    const victim = await spawnVictim(system, 'recovery', 'before_commit:1');
    await waitForPhase(system.client, task.id, 'completed');
    await victim.isDead();
    expect((await appliedByKey(system.workspace, file)).get(task.effect)).toBe(1);
  } finally {
    await system.stop();
  }
});
