import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untilHandled } from '../../kit/bus/consumers.ts';
import {
  COUNTED,
  type Counted,
  type CountedSystem,
  type CountedTask,
  endOf,
  order,
  stateOf,
  withCounter,
} from '../../kit/effects/counted.ts';
import { createSystem } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';
import { spawnVictim, type Step, type Victim } from '../../kit/effects/crashing-service.ts';
import { startWitness, type Witness } from '../../kit/effects/counted-target.ts';

/** How often the counter has applied it, work at least so often, and how the task has ended, for each kind of target. */
type Ends = Readonly<Record<Counted, readonly [count: number, end: 'completed' | 'asks']>>;

/** Nothing had left, so that what has to be found out is all that is left to do. */
const NOTHING_LEFT: Ends = {
  opaque: [0, 'asks'],
  keyed: [1, 'completed'],
  probeable: [1, 'completed'],
  work: [1, 'completed'],
};
/** It has happened, and nobody knows: only what may be done again is. */
const HAPPENED: Ends = { ...NOTHING_LEFT, opaque: [1, 'asks'] };
/** Nothing, or everything, was recorded. */
const KNOWN: Ends = { ...NOTHING_LEFT, opaque: [1, 'completed'] };

let witness: Witness;
/** One for each kind, so that they can be killed at the same time. */
const systems = new Map<Counted, CountedSystem>();

beforeAll(async () => {
  witness = await startWitness();
  for (const of of COUNTED) {
    const system = await withCounter(await createSystem({ shortTimers: true }), witness);
    systems.set(of, system);
    const others = SERVICES.filter((service) => service !== 'executor');
    await Promise.all(others.map((service) => system.start(service)));
  }
});
afterAll(async () => {
  for (const system of systems.values()) await system.stop();
  await witness.stop();
});

const ofEach = (work: (of: Counted, system: CountedSystem) => Promise<void>): Promise<unknown> =>
  Promise.all([...systems].map(([of, system]) => work(of, system)));

/** The independent count is what counts; and the ledger says the same. */
const expectEnd = async (system: CountedSystem, task: CountedTask, ends: Ends): Promise<void> => {
  const [count, end] = ends[task.of];
  expect([task.of, await endOf(system, task)]).toEqual([task.of, end]);
  // What has reached its target may be dealt with a moment after whoever sent it was killed.
  await untilTrue(
    `it is applied ${String(count)} times`,
    async () => (await witness.applications(task.key)) >= count,
  );
  // Work may be done again whenever somebody was not heard of for a while.
  if (task.of !== 'work') expect([task.of, await witness.applications(task.key)]).toEqual([task.of, count]);
  expect([task.of, await stateOf(system, task)]).toEqual([
    task.of,
    end === 'completed' ? 'applied' : 'in_doubt',
  ]);
};

/** One task of each kind, whose executor is killed on the way. */
const expectEnds = (
  ends: Ends,
  crash: Step | undefined,
  kill?: (task: CountedTask, executor: Victim) => Promise<void>,
): Promise<unknown> =>
  ofEach(async (of, system) => {
    const executor = await spawnVictim(system, 'executor', crash, system.executorEnv);
    try {
      await executor.started();
      const task = await order(system, of);
      await kill?.(task, executor);
      await executor.isDead();
      await expectEnd(system, task, ends);
      // What it had not acknowledged comes again, and is not to come to the next one.
      await untilHandled(system.client.connection);
    } finally {
      await executor.stop();
    }
  });

/** All are killed while the counter has their requests; it deals with the next ones as it should. */
const expectEndsUnderWay = async (
  mode: 'slow' | 'apply_then_hang',
  isSoFar: (task: CountedTask) => Promise<boolean>,
): Promise<void> => {
  await witness.meet(mode);
  let alive = systems.size;
  await expectEnds(HAPPENED, undefined, async (task, executor) => {
    await untilTrue('the request is under way', () => isSoFar(task));
    executor.signal('SIGKILL');
    alive -= 1;
    if (alive === 0) await witness.meet('normal');
  });
};

describe('an executor that is killed', () => {
  test('a kill before the commit of the claim redelivers the order, which is executed once', async () => {
    await expectEnds(KNOWN, 'before_commit:1');
  });

  test('a kill after the commit of the claim and before its publication sends nothing, and a person is asked', async () => {
    await expectEnds(NOTHING_LEFT, 'after_commit:1');
  });

  test('a kill before the journal record sends nothing, and a person is asked', async () => {
    await expectEnds(NOTHING_LEFT, 'before_note:1');
  });

  test('a kill after the journal record and before the request sends nothing, and a person is asked', async () => {
    await expectEnds(NOTHING_LEFT, 'after_note:1');
  });

  test('a kill during the request, before the target applied it, repeats only what is safe to repeat', async () => {
    await expectEndsUnderWay('slow', async ({ key }) => (await witness.requests(key)) > 0);
  });

  test('a kill during the request, after the target applied it, repeats only what is safe to repeat', async () => {
    await expectEndsUnderWay('apply_then_hang', async ({ key }) => (await witness.applications(key)) > 0);
  });

  test('a kill after the effect and before the commit of its outcome repeats only what is safe to repeat', async () => {
    await expectEnds(HAPPENED, 'before_commit:2');
  });

  test('a kill between commit and publication of the outcome leaves the publication to the next executor', async () => {
    await expectEnds(KNOWN, 'after_commit:2');
  });

  test('a kill after the publication of the outcome loses and repeats nothing', async () => {
    await expectEnds(KNOWN, 'after_publish:2');
  });
});
