import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { CrashPoint } from '@holdpoint/runtime/engine/ports';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  answer,
  type CountedSystem,
  type CountedTask,
  endOf,
  stateOf,
  submitCounted,
  withCounter,
} from '../../kit/effects/counted.ts';
import { atMost } from '../../kit/at-most.ts';
import { createSystem } from '../../kit/stack/system.ts';
import { approve, waitForPhase, waitForRequest } from '../../kit/tasks/tasks.ts';
import { spawnVictim } from '../../kit/effects/crashing-service.ts';
import { startWitness, type Witness } from '../../kit/effects/counted-target.ts';

/** One target answers, and one applies the effect and answers with an error, which leaves it in doubt. */
let honest: Witness;
let doubtful: Witness;
beforeAll(async () => {
  [honest, doubtful] = await Promise.all([startWitness(), startWitness()]);
  await doubtful.meet('apply_then_500');
});
afterAll(async () => {
  await honest.stop();
  await doubtful.stop();
});

/** The state of the task at the replacement of the service, and the batch in which the new process dies. */
type Death = {
  readonly service: ServiceName;
  readonly from: 'asked for approval' | 'asked about a doubt';
  readonly batch: number;
  readonly leaves: 'an outcome' | 'a doubt';
};

const deaths: readonly (readonly [string, Death])[] = [
  [
    'approvals, while it takes the decision that lets the effect run',
    { service: 'approvals', from: 'asked for approval', batch: 1, leaves: 'an outcome' },
  ],
  [
    'the orchestrator, while it takes the decision and orders the effect',
    { service: 'orchestrator', from: 'asked for approval', batch: 1, leaves: 'an outcome' },
  ],
  [
    'the orchestrator, while it takes the outcome',
    { service: 'orchestrator', from: 'asked for approval', batch: 2, leaves: 'an outcome' },
  ],
  [
    'the orchestrator, while it takes the in-doubt event and asks recovery',
    { service: 'orchestrator', from: 'asked for approval', batch: 2, leaves: 'a doubt' },
  ],
  [
    'recovery, while it decides on the in-doubt effect',
    { service: 'recovery', from: 'asked for approval', batch: 1, leaves: 'a doubt' },
  ],
  [
    'the orchestrator, while it requests an answer',
    { service: 'orchestrator', from: 'asked for approval', batch: 3, leaves: 'a doubt' },
  ],
  [
    'approvals, while it takes the question',
    { service: 'approvals', from: 'asked for approval', batch: 2, leaves: 'a doubt' },
  ],
  [
    'approvals, while it takes the answer',
    { service: 'approvals', from: 'asked about a doubt', batch: 1, leaves: 'a doubt' },
  ],
  [
    'the orchestrator, while it takes the answer',
    { service: 'orchestrator', from: 'asked about a doubt', batch: 1, leaves: 'a doubt' },
  ],
  [
    'the executor, while it takes the answer',
    { service: 'executor', from: 'asked about a doubt', batch: 1, leaves: 'a doubt' },
  ],
  [
    'the orchestrator, while it takes the result of the answer',
    { service: 'orchestrator', from: 'asked about a doubt', batch: 2, leaves: 'a doubt' },
  ],
];

/** The task waits for a person, so that all later work of its services follows from the answer. */
const reach = async (system: CountedSystem, from: Death['from']): Promise<CountedTask> => {
  const task = await submitCounted(system, 'opaque');
  await waitForPhase(system.client, task.id, 'awaiting_approval');
  await waitForRequest(system.client, task);
  if (from === 'asked for approval') return task;
  await approve(system.client, task);
  expect(await endOf(system, task)).toBe('asks');
  return task;
};

const expectDoneOnce = async ({ service, from, batch, leaves }: Death, point: CrashPoint): Promise<void> => {
  const witness = leaves === 'a doubt' ? doubtful : honest;
  const system = await withCounter(await createSystem({ shortTimers: true }), witness);
  try {
    const envOf = (name: ServiceName) => (name === 'executor' ? system.executorEnv : {});
    const started = await Promise.all(
      SERVICES.map(async (name) => [name, await system.start(name, envOf(name))] as const),
    );
    const task = await reach(system, from);
    await new Map(started).get(service)?.stop();
    const victim = await spawnVictim(system, service, `${point}:${batch}`, envOf(service));
    await victim.started();
    if (from === 'asked for approval') await approve(system.client, task);
    if (leaves === 'a doubt') await answer(system, task, 'applied');
    await victim.isDead();
    await waitForPhase(system.client, task.id, 'completed');
    expect(await witness.requests(task.key)).toBe(1);
    expect(await witness.applications(task.key)).toBe(1);
    expect(await stateOf(system, task)).toBe('applied');
    await victim.stop();
  } finally {
    await system.stop();
  }
};

/** The tests mostly wait, but each runs four services and a client. */
const oneOfTwo = atMost(2);

describe.concurrent('an effect is sent once, and its task completes, after a kill', () => {
  test.each(deaths)('an effect is sent once after a kill of %s, between commit and publication', (_, death) =>
    oneOfTwo(() => expectDoneOnce(death, 'after_commit')),
  );
  // Redelivery is the same for all services; these cases carry the answer of a person.
  test.each(deaths.filter(([name]) => /takes the (decision|answer)/.test(name)))(
    'an effect is sent once after a kill of %s, before the commit',
    (_, death) => oneOfTwo(() => expectDoneOnce(death, 'before_commit')),
  );
});
