import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { consumers } from '@holdpoint/contracts/bus/streams';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { approveCrowd, expectAllDoneOnce, submitCrowd } from '../../kit/tasks/bulk-tasks.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';

let system: System;
// The usual resends: the repair must not wait for them.
beforeEach(async () => {
  system = await createSystem({ almightyMonitor: true });
  await system.startAll();
});
afterEach(() => system.stop());

const BEFORE = 40;
const AFTER = 5;

describe.skipIf(currentRun().backend === 'docker')('a bus that has lost its tail', () => {
  test('tasks continue although the consumers are ahead of their streams', async () => {
    await system.nats.copyMessages();
    await expectAllDoneOnce(system, await approved(BEFORE));
    const waiting = await submitCrowd(system, AFTER);
    await system.nats.loseTail();
    await approveCrowd(system, waiting);
    await expectAllDoneOnce(system, waiting);
  });

  test('consumers are recreated after every restart, because a stream may have grown beyond its lost tail', async () => {
    const waiting = await submitCrowd(system, AFTER);
    const before = await positions();
    await system.nats.kill();
    await system.nats.start();
    await untilTrue('every consumer is recreated', async () => {
      const now = await positions();
      return now.every((info, index) => info !== undefined && info.created !== before[index]?.created);
    });
    await approveCrowd(system, waiting);
    await expectAllDoneOnce(system, waiting);
  });

  test('each unanswered question is asked again soon, however late its next resend would be', async () => {
    const waiting = await submitCrowd(system, AFTER);
    await inOrchestrator(`UPDATE timers SET due_at = now() + interval '1 day'`);
    await system.nats.kill();
    await system.nats.start();
    await untilTrue('every resend is hurried', async () => {
      const late = `SELECT FROM timers WHERE name LIKE 'reply:%' AND due_at > now() + interval '1 hour'`;
      return (await inOrchestrator(late)) === 0;
    });
    await approveCrowd(system, waiting);
    await expectAllDoneOnce(system, waiting);
  });
});

/** Returns the number of rows. */
const inOrchestrator = (statement: string): Promise<number> =>
  withAdmin(system.database.admin, async (client) => {
    await client.query('SET search_path = orchestrator');
    return (await client.query(statement)).rowCount ?? 0;
  });

const positions = async () => {
  const manager = await jetstreamManager(await system.connect('monitor'), { checkAPI: false });
  return Promise.all(
    consumers.map(({ stream, name }) => manager.consumers.info(stream, name).catch(() => undefined)),
  );
};

const approved = async (count: number) => {
  const tasks = await submitCrowd(system, count);
  await approveCrowd(system, tasks);
  return tasks;
};
