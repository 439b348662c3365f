import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ServiceName, SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import type { CrashPoint } from '@holdpoint/runtime/engine/ports';
import { describe, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { spawnVictim, type Step } from '../../kit/effects/crashing-service.ts';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import {
  approve,
  newTaskId,
  type SampleTask,
  sampleTask,
  submitSample,
  waitForPhase,
} from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

const POINTS = [
  'before_commit',
  'after_commit',
  'after_publish',
  'after_ack',
] as const satisfies readonly CrashPoint[];

/**
 * The maximum number of batches of each service during one gated task; the service is killed in each.
 * Recovery has a batch only after a failure, so its case makes the effect fail first.
 */
const passes: readonly (readonly [ServiceName, number, string])[] = [
  ['orchestrator', 1, 'while it takes the submission'],
  ['orchestrator', 2, 'while it takes the decision'],
  ['orchestrator', 3, 'while it takes the outcome'],
  ['approvals', 1, 'while it takes the request'],
  ['approvals', 2, 'while it takes the decision'],
  ['executor', 1, 'while it takes the order'],
  ['executor', 2, 'while it records the outcome'],
  ['recovery', 1, 'while it takes the failure'],
];

const expectDoneOnce = async (
  { client, workspace }: System,
  task: SampleTask,
  file?: string,
): Promise<void> => {
  await waitForPhase(client, task.id, 'completed');
  expect(Object.fromEntries(await appliedByKey(workspace, file))).toMatchObject({ [task.effect]: 1 });
  const { events } = await client.ask('orchestrator', 'history', { id: task.id });
  expect(events.map(({ version }) => version)).toEqual(events.map((_event, index) => index + 1));
};

const through = async (system: System, service: ServiceName, crash: Step): Promise<void> => {
  const victim = await spawnVictim(system, service, crash);
  const task = await submitSample(system.client);
  await approve(system.client, task);
  await expectDoneOnce(system, task);
  await victim.isDead();
  await victim.stop();
};

/** The effect fails as certainly not applied, because a file stands in the place of its folder at first. */
const throughRecovery = async (system: System, crash: Step): Promise<void> => {
  const name = crash.replace(':', '-');
  const inside = join(system.workspace, name);
  await writeFile(inside, '');
  const file = `${name}/sample.txt`;
  const task = await submitSample(system.client, file);
  await approve(system.client, task);
  await waitForPhase(system.client, task.id, 'recovering');
  await rm(inside);
  const victim = await spawnVictim(system, 'recovery', crash);
  await expectDoneOnce(system, task, file);
  await victim.isDead();
  await victim.stop();
};

describe.concurrent('after the kill of a service', () => {
  test.each(passes)(
    'a task completes and its effect is applied once after kills of the %s in batch %i, %s, at every point',
    { timeout: 300_000 },
    async (service, n) => {
      // Eight systems share this process, so an effect may begin later than a short lease allows.
      const system = await createSystem({ shortResends: true });
      try {
        await Promise.all(SERVICES.filter((each) => each !== service).map((each) => system.start(each)));
        for (const point of POINTS) {
          const crash: Step = `${point}:${n}`;
          if (service === 'recovery') await throughRecovery(system, crash);
          else await through(system, service, crash);
        }
      } finally {
        await system.stop();
      }
    },
  );
});

/** The sender does not repeat the submission: the acknowledgement of the bus is its only answer. */
const submitOnce = async ({ client }: System): Promise<SampleTask> => {
  const task = sampleTask(newTaskId());
  const inputs = { file: 'sample.txt', line: task.line };
  const body = JSON.stringify({ id: task.id, workflow: 'sample', goal: 'append a line', inputs });
  // Without the stream of the first orchestrator the bus cannot store a submission.
  await until('the bus has the submission', () =>
    publish(client.connection, subjects.taskCommand('submit'), body, { messageId: `submit.${task.id}` }),
  );
  return task;
};

test('a submission that the bus accepted becomes a task despite kills of the orchestrator at every point', async () => {
  const system = await createSystem({ shortTimers: true });
  try {
    const others = SERVICES.filter((service) => service !== 'orchestrator');
    await Promise.all(others.map((service) => system.start(service)));
    const victim = await system.spawn('orchestrator', {
      envOfLife: (life): Readonly<Record<string, string>> =>
        life < POINTS.length ? { HOLDPOINT_TEST_CRASH_POINT: `${POINTS[life] ?? ''}:1` } : {},
    });
    const tasks: SampleTask[] = [];
    for (const life of POINTS.keys()) {
      await untilTrue('the next life has begun', () => victim.exits().length === life);
      tasks.push(await submitOnce(system));
      await untilTrue('it has ended', () => victim.exits()[life]?.signal === 'SIGKILL');
    }
    for (const task of tasks) await approve(system.client, task);
    for (const task of tasks) await expectDoneOnce(system, task);
    await victim.stop();
  } finally {
    await system.stop();
  }
});
