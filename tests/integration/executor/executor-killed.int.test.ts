import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untilHandled } from '../../kit/bus/consumers.ts';
import {
  COUNTED,
  type Counted,
  type CountedSystem,
  type CountedTask,
  endOf,
  ledgerOf,
  order,
  stateOf,
  withCounter,
} from '../../kit/effects/counted.ts';
import { createSystem } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';
import { spawnVictim, type Step, type Victim } from '../../kit/effects/crashing-service.ts';
import { startWitness, type Witness } from '../../kit/effects/counted-target.ts';

/** For each kind of target: the number of applications (for work, the minimum) and the end of the task. */
type Ends = Readonly<Record<Counted, readonly [count: number, end: 'completed' | 'asks']>>;

/** The request was not sent, so the executor only has to find that out. */
const NOTHING_LEFT: Ends = {
  opaque: [0, 'asks'],
  keyed: [1, 'completed'],
  probeable: [1, 'completed'],
  work: [1, 'completed'],
};
/** The effect was applied, but without a record: the executor repeats only what is safe to repeat. */
const HAPPENED: Ends = { ...NOTHING_LEFT, opaque: [1, 'asks'] };
/** Either nothing or everything is recorded: even an effect on an opaque target is applied exactly once. */
const KNOWN: Ends = { ...NOTHING_LEFT, opaque: [1, 'completed'] };

let witness: Witness;
/** One task of each kind, so that all can be killed at the same time. */
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

/** The independent count decides, and the ledger must agree. */
const expectEnd = async (system: CountedSystem, task: CountedTask, ends: Ends): Promise<void> => {
  const [count, end] = ends[task.of];
  expect([task.of, await endOf(system, task)]).toEqual([task.of, end]);
  // A target may process a request a moment after the kill of its sender.
  await untilTrue(
    `it is applied ${String(count)} times`,
    async () => (await witness.applications(task.key)) >= count,
  );
  // Work may be repeated after every lost heartbeat.
  if (task.of !== 'work') expect([task.of, await witness.applications(task.key)]).toEqual([task.of, count]);
  expect([task.of, await stateOf(system, task)]).toEqual([
    task.of,
    end === 'completed' ? 'applied' : 'in_doubt',
  ]);
};

/** One task of each kind, whose executor is killed in between. */
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
      // The bus redelivers unacknowledged messages; the next test must not receive them.
      await untilHandled(system.client.connection);
    } finally {
      await executor.stop();
    }
  });

/** All executors are killed while the counter has their requests; it answers later requests normally. */
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

/** Longer than a restart takes on any machine. */
const LONG_LEASE = { HOLDPOINT_TEST_LEASE_MS: '60000' };

test.each(['keyed', 'work'] as const)(
  'the next owner of the journal repeats a %s effect without waiting for the lease',
  async (of) => {
    const system = systems.get(of);
    if (system === undefined) throw new Error(`no system for ${of}`);
    const env = { ...system.executorEnv, ...LONG_LEASE };
    const executor = await spawnVictim(system, 'executor', 'before_commit:2', env);
    try {
      await executor.started();
      const task = await order(system, of);
      await executor.isDead();
      await expectEnd(system, task, HAPPENED);
      const events = await ledgerOf(system, task);
      const reasons = events.flatMap((event) => (event.type === 'in_doubt' ? [event.reason] : []));
      expect([reasons.length, reasons[0]]).toEqual([
        1,
        expect.stringMatching(/^worker executor-.* has ended$/),
      ]);
      await untilHandled(system.client.connection);
    } finally {
      await executor.stop();
    }
  },
);
