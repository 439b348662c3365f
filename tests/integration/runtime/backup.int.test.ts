import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { commandLine } from '../../kit/command-line.ts';
import { canDump, dumpDatabase } from '../../kit/stack/dump.ts';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { backUpDatabase } from '../../kit/stack/restore.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, submitSample, waitForPhase, waitForRequest } from '../../kit/tasks/tasks.ts';

let system: System;
beforeEach(async () => {
  system = await createSystem();
});
afterEach(() => system.stop());

/** Uses the programs of the guide if they match the server; otherwise it copies the files of the database. */
const backUp = async () => {
  const { database, folder, run } = system;
  return (await canDump(database))
    ? dumpDatabase(database, { folder, credentialsDir: run.credentialsDir })
    : backUpDatabase(database);
};

test('a backup of a running system is restored as docs/backup.md says, and its tasks continue', async () => {
  const services = await system.startAll();
  const holdpoint = commandLine(system);
  const [ended, waiting] = [await submitSample(system.client), await submitSample(system.client)];
  await approveAndComplete(system.client, ended);
  await waitForRequest(system.client, waiting);
  const backup = await backUp();

  await approveAndComplete(system.client, waiting);
  const later = await submitSample(system.client);
  await waitForRequest(system.client, later);
  for (const service of SERVICES) await services[service].stop();
  await backup.putBack();
  await system.startAll();

  const { code, out } = await holdpoint('admin', 'doctor');
  expect(out.split('\n').filter((line) => line.startsWith('fail'))).toEqual([]);
  expect(code).toBe(0);
  await waitForPhase(system.client, ended.id, 'completed');
  await expect(system.client.ask('orchestrator', 'get', { id: later.id })).rejects.toMatchObject({
    code: 'ORCHESTRATOR_UNKNOWN_TASK',
  });
  // Decisions after the backup are requested again, and later effects are not repeated.
  await approveAndComplete(system.client, waiting);
  const applied = await appliedByKey(system.workspace);
  expect([ended, waiting].map(({ effect }) => applied.get(effect))).toEqual([1, 1]);
});
