import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { approveCrowd, expectAllDoneOnce, keepBusy, submitCrowd } from '../../kit/tasks/bulk-tasks.ts';
import { Refusal } from '../../kit/bus/client.ts';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { type PostgresServer, startPostgresServer } from '../../kit/stack/postgres-server.ts';
import { preparePostgres } from '../../kit/stack/prepare-postgres.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { submitSample } from '../../kit/tasks/tasks.ts';
import { untilTrue } from '../../kit/until.ts';

/** A separate server, because other tests need theirs. */
let postgres: PostgresServer;
let system: System;
let services: readonly ServiceInProcess[];
beforeAll(async () => {
  const { backend, folder: runFolder, credentialsDir } = currentRun();
  const folder = join(runFolder, 'breakable');
  await mkdir(folder);
  postgres = await startPostgresServer(backend, { folder, runFolder, credentialsDir });
  await preparePostgres(postgres.admin, credentialsDir);
  system = await createSystem({ admin: postgres.admin });
  services = Object.values(await system.startAll());
});
afterAll(async () => {
  await system.stop();
  await postgres.remove();
});

test.each([
  ['is killed', () => postgres.kill()],
  ['is restarted', () => postgres.stop()],
] as const)('every accepted task completes when PostgreSQL %s under load', async (_how, end) => {
  const waiting = await submitCrowd(system, 20);
  const stopWork = keepBusy(system);
  for (let outage = 0; outage < 2; outage += 1) {
    await submitSample(system.client);
    await end();
    await postgres.start();
  }
  await approveCrowd(system, waiting);
  await expectAllDoneOnce(system, [...waiting, ...(await stopWork())]);
});

test('while PostgreSQL is away, callers get an error and services are not ready; then all recover', async () => {
  await postgres.stop();
  try {
    const submission = { workflow: 'sample', goal: 'too early' };
    await untilTrue('submissions are refused', async () => {
      const answer = await system.client
        .ask('orchestrator', 'submit', submission)
        .catch((error: unknown) => error);
      return answer instanceof Refusal && answer.code === 'RUNTIME_UNAVAILABLE' && answer.status === 503;
    });
    for (const { httpPort } of services) {
      expect((await fetch(`http://127.0.0.1:${String(httpPort)}/readyz`)).status).toBe(503);
      expect((await fetch(`http://127.0.0.1:${String(httpPort)}/healthz`)).status).toBe(200);
    }
  } finally {
    await postgres.start();
  }
  const tasks = await submitCrowd(system, 3);
  await approveCrowd(system, tasks);
  await expectAllDoneOnce(system, tasks);
});
