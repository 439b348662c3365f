import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untilHandled } from '../../kit/bus/consumers.ts';
import { type CountedSystem, endOf, order, withCounter } from '../../kit/effects/counted.ts';
import { startPostgresServer } from '../../kit/stack/postgres-server.ts';
import { preparePostgres } from '../../kit/stack/prepare-postgres.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { createSystem } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';
import { spawnVictim, type Step } from '../../kit/effects/crashing-service.ts';
import { startWitness, type Witness } from '../../kit/effects/counted-target.ts';

/**
 * The step of the executor during the outage; `under way` is between its journal record and its outcome.
 * The first step comes last: a redelivered order must not count for the next test.
 */
const STEPS = [
  'after_commit:1',
  'after_publish:1',
  'after_note:1',
  'under way',
  'before_commit:2',
  'after_commit:2',
  'after_publish:2',
  'before_commit:1',
] as const satisfies readonly (Step | 'under way')[];

let witness: Witness;
beforeAll(async () => {
  witness = await startWitness();
  await witness.meet('slow');
});
afterAll(() => witness.stop());

type Server = { readonly kill: () => Promise<void>; readonly start: () => Promise<void> };

/** The executor waits at the step while the server dies and restarts, and then continues. */
const expectOnceAt = async (system: CountedSystem, { kill, start }: Server, step: (typeof STEPS)[number]) => {
  const crash = step === 'under way' ? undefined : (`${step}:freeze` as const);
  const executor = await spawnVictim(system, 'executor', crash, system.executorEnv);
  await executor.started();
  const task = await order(system, 'opaque');
  if (crash === undefined)
    await untilTrue('the request is under way', async () => (await witness.requests(task.key)) > 0);
  else await executor.isFrozen();
  await kill();
  await start();
  executor.thaw();
  const end = await endOf(system, task);
  const count = await witness.applications(task.key);
  // An outage longer than a lease may end in a question; the request is never sent twice.
  expect([step, end, count]).toEqual([step, end, end === 'completed' ? 1 : Math.min(count, 1)]);
  expect(await witness.requests(task.key)).toBe(count);
  // A message that the bus redelivers after a lost acknowledgement would be the first step of the next
  // executor.
  await untilHandled(system.client.connection, ['executor']);
  await executor.stop();
};

const expectOnceThrough = async (system: CountedSystem, server: Server): Promise<void> => {
  const others = SERVICES.filter((service) => service !== 'executor');
  await Promise.all(others.map((service) => system.start(service)));
  for (const step of STEPS) await expectOnceAt(system, server, step);
};

describe('an effect is sent once, and its task completes or asks a person, after an outage', () => {
  // Each step may have to wait for the redelivery of unacknowledged messages.
  test(
    'an effect is sent at most once though NATS is killed and restarted at each of its steps',
    { timeout: 600_000 },
    async () => {
      const system = await createSystem({ shortTimers: true });
      try {
        await expectOnceThrough(await withCounter(system, witness), system.nats);
      } finally {
        await system.stop();
      }
    },
  );

  test('an effect is sent at most once though PostgreSQL is killed and restarted at each of its steps', async () => {
    const { backend, folder: runFolder, credentialsDir } = currentRun();
    const folder = join(runFolder, 'killed-under-effects');
    await mkdir(folder);
    const postgres = await startPostgresServer(backend, { folder, runFolder, credentialsDir });
    try {
      await preparePostgres(postgres.admin, credentialsDir);
      const system = await createSystem({ shortTimers: true, admin: postgres.admin });
      try {
        await expectOnceThrough(await withCounter(system, witness), postgres);
      } finally {
        await system.stop();
      }
    } finally {
      await postgres.remove();
    }
  });
});
