import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Counted,
  type CountedSystem,
  type CountedTask,
  endOf,
  ledgerOf,
  order,
  stateOf,
  untilInLedger,
  withCounter,
} from '../../kit/effects/counted.ts';
import { createSystem } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';
import { spawnVictim, type Step, type Victim } from '../../kit/effects/crashing-service.ts';
import { startWitness, type Witness } from '../../kit/effects/counted-target.ts';

/** One target answers at once, and one is slow. */
let prompt: Witness;
let slow: Witness;
beforeAll(async () => {
  [prompt, slow] = await Promise.all([startWitness(), startWitness()]);
  await slow.meet('slow');
});
afterAll(async () => {
  await prompt.stop();
  await slow.stop();
});

type State = 'in_doubt' | 'applied' | 'either of them';
/**
 * The number of applications, the state of the task while one executor is frozen, and the final ledger
 * state.
 */
type End = { readonly count: number; readonly meanwhile: 'completed' | 'asks'; readonly state: State };
const ASKED: End = { count: 0, meanwhile: 'asks', state: 'in_doubt' };
const DONE: End = { count: 1, meanwhile: 'completed', state: 'applied' };

type Frozen = {
  readonly ends: Readonly<Partial<Record<Counted, End>>>;
  /** The step at which it is frozen; without one, while the counter has its request. */
  readonly step?: Step;
  /** The lease expires meanwhile, so the report of the frozen executor is too late. */
  readonly late?: boolean;
};

/**
 * The executor that was frozen has finished: its report is in the ledger, or its log says that it has
 * none.
 */
const untilOver = (system: CountedSystem, task: CountedTask, { lines }: Victim): Promise<true> =>
  untilTrue('the frozen executor has finished', async () => {
    const wasSuperseded = (await ledgerOf(system, task)).some(({ type }) => type === 'superseded');
    return (
      wasSuperseded || (await lines()).some(({ msg }) => msg === 'effect ended without a certain outcome')
    );
  });

/** One of two executors is frozen for longer than its lease, and continues once the other one has finished. */
const frozenIn = async (
  system: CountedSystem,
  of: Counted,
  { count, meanwhile, state }: End,
  { step, late = true }: Omit<Frozen, 'ends'>,
): Promise<void> => {
  const { witness, executorEnv } = system;
  const others = SERVICES.filter((service) => service !== 'executor');
  await Promise.all(others.map((service) => system.start(service)));
  const first = await spawnVictim(system, 'executor', step && `${step}:freeze`, executorEnv);
  await first.started();
  const task = await order(system, of);
  if (step === undefined) {
    await untilTrue('the request is under way', async () => (await witness.requests(task.key)) > 0);
    await first.freeze();
  }
  await first.isFrozen();
  await system.start('executor', executorEnv);
  if (late) await untilInLedger(system, task, 'in_doubt');
  expect(await endOf(system, task)).toBe(meanwhile);
  const requests = await witness.requests(task.key);
  first.thaw();
  if (late) await untilOver(system, task, first);
  if (state !== 'either of them')
    await untilTrue(`it is ${state}`, async () => (await stateOf(system, task)) === state);
  const settled = await stateOf(system, task);
  // It works again and has started nothing.
  const other = await order(system, of);
  await untilTrue('another one is applied', async () => (await stateOf(system, other)) === 'applied');
  expect(await witness.requests(task.key)).toBe(requests);
  expect(await witness.applications(task.key)).toBe(count);
  expect(await stateOf(system, task)).toBe(settled);
  await first.stop();
};

const expectNothingNew = async ({ ends, ...rest }: Frozen): Promise<void> => {
  await Promise.all(
    Object.entries(ends).map(async ([of, end]) => {
      const system = await withCounter(
        await createSystem({ shortTimers: true }),
        rest.step === undefined ? slow : prompt,
      );
      try {
        await frozenIn(system, of as Counted, end, rest);
      } catch (cause) {
        throw new Error(`of the kind ${of}`, { cause });
      } finally {
        await system.stop();
      }
    }),
  );
};

describe('an executor that is frozen for longer than its lease', () => {
  test('an executor frozen after the commit of its claim starts nothing later and changes nothing', () =>
    expectNothingNew({ step: 'after_commit:1', ends: { opaque: ASKED, keyed: DONE } }));

  test('an executor frozen after its journal record starts nothing later and changes nothing', () =>
    expectNothingNew({ step: 'after_note:1', ends: { opaque: ASKED, keyed: DONE, probeable: ASKED } }));

  test('an executor frozen during its request starts nothing later, and its result may resolve the doubt', () =>
    expectNothingNew({
      ends: {
        opaque: { count: 1, meanwhile: 'asks', state: 'either of them' },
        keyed: DONE,
        probeable: DONE,
      },
    }));

  test('an executor frozen before the commit of its outcome reports late, and the report resolves the doubt', () =>
    expectNothingNew({
      step: 'before_commit:2',
      ends: { opaque: { count: 1, meanwhile: 'asks', state: 'applied' }, keyed: DONE },
    }));

  test('the outcome of an executor frozen after its commit is published by the other one, and nothing repeats', () =>
    expectNothingNew({ step: 'after_commit:2', late: false, ends: { opaque: DONE, keyed: DONE } }));
});
