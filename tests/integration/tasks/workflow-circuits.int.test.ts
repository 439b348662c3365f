import { workflowCircuit } from '@holdpoint/contracts/recovery/circuit';
import { TaskId } from '@holdpoint/contracts/values/ids';
import { SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, sampleTask, submitSample, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

const target = workflowCircuit('sample');
const COOL_DOWN_MS = 3_000;

let system: System;
let recovery: NatsConnection;
beforeAll(async () => {
  system = await createSystem();
  await Promise.all(SERVICES.map((service) => system.start(service)));
  recovery = await system.connect('recovery');
});
afterAll(() => system.stop());

let given = 0;
/** Reports abandoned jobs of the workflow, as recovery does. */
const breakIt = async (coolDownMs = COOL_DOWN_MS): Promise<void> => {
  for (let i = 0; i < 2; i += 1) {
    given += 1;
    const payload = {
      target,
      task: TaskId.parse(`t-broken-${String(given)}`),
      circuit: { failures: 2, windowMs: 60_000, coolDownMs },
    };
    await publish(recovery, subjects.recoveryCommand('circuit_record_failure'), JSON.stringify(payload));
  }
  await untilTrue('the circuit is open', async () => (await circuit())?.state === 'open');
};
const circuit = async () =>
  (await system.client.ask('recovery', 'circuits', {})).items.find((each) => each.target === target);
const phaseOf = async (id: TaskId) => (await system.client.ask('orchestrator', 'get', { id })).phase;
/** A waiting task: the orchestrator receives the circuit state a little later than recovery. */
const untilHeld = (): Promise<TaskId> =>
  until('a task is deferred', async () => {
    const { id } = await submitSample(system.client);
    if ((await phaseOf(id)) === 'circuit_open') return id;
    await system.client.ask('orchestrator', 'cancel', { id });
    return undefined;
  });

test('tasks of a broken workflow wait while one probes it, and all start once it succeeds', async () => {
  await breakIt();
  const waiting = [await untilHeld(), await untilHeld(), await untilHeld()];
  const view = await system.client.ask('orchestrator', 'get', { id: waiting[0] as TaskId });
  expect(view.circuit).toBe(target);
  const isTrying = async (): Promise<readonly TaskId[]> => {
    const phases = await Promise.all(waiting.map(async (id) => [id, await phaseOf(id)] as const));
    return phases.flatMap(([id, phase]) => (phase === 'circuit_open' ? [] : [id]));
  };
  await untilTrue('one task probes', async () => (await isTrying()).length === 1);
  expect(await circuit()).toMatchObject({ state: 'half_open' });
  const [first] = await isTrying();
  if (first === undefined) throw new Error('none tries');
  await approveAndComplete(system.client, sampleTask(first));
  await untilTrue('it is closed', async () => (await circuit())?.state === 'closed');
  await untilTrue('all others start', async () => (await isTrying()).length === waiting.length);
});

test('an operator closes the circuit, and the waiting tasks start at once', async () => {
  await breakIt(3_600_000);
  const held = await untilHeld();
  await system.client.ask('recovery', 'circuit', { target, state: 'closed', reason: 'mended' });
  await waitForPhase(system.client, held, 'awaiting_approval');
  const { id } = await submitSample(system.client);
  expect((await waitForPhase(system.client, id, 'awaiting_approval')).circuit).toBeUndefined();
});
