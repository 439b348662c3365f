import type { ReportCircuit } from '@holdpoint/contracts/recovery/circuit';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CleanFailure, OutcomeUnknown } from '../../ports/capability.ts';
import { createCircuits } from './circuits.ts';
import { LeaseOver } from './breaker.ts';

const TARGET = 'https://api.example';
const SELF = 'executor-1';
const MAX = 8;
const OPEN_MS = 30_000;
const LONG_MS = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** As the process has it, and as the test moves it. */
const clock: Clock = {
  now: () => Date.now(),
  after: (ms, step) => {
    const timer = setTimeout(step, ms);
    return () => clearTimeout(timer);
  },
  every: (ms, step) => {
    const timer = setInterval(step, ms);
    return () => clearInterval(timer);
  },
};

const setUp = () => {
  const told: ReportCircuit[] = [];
  const changed: string[] = [];
  const waited = new Set<string>();
  const circuits = createCircuits({
    self: SELF,
    rules: { triesMin: 2, windowMs: 10_000, openMs: OPEN_MS },
    targetMax: MAX,
    clock,
    report: (report) => told.push(report) > 0,
    slots: { isWaitedFor: (target) => waited.has(target), changed: (target) => void changed.push(target) },
    log: silentLogger(),
  });
  const { signal } = new AbortController();
  const ends = (error?: Error): Promise<unknown> =>
    circuits
      .guard(TARGET, signal, () => (error === undefined ? Promise.resolve({}) : Promise.reject(error)))
      .catch((thrown: unknown) => thrown);
  const fails = async (times = 2): Promise<void> => {
    for (let i = 0; i < times; i += 1) await ends(new OutcomeUnknown('no answer'));
  };
  return { circuits, told, changed, waited, ends, fails };
};

const gone = () => new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'it cannot be reached'));
const refused = () => new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', 'it answered 403'));

describe('a failing target', () => {
  test.each([
    ['clean failures', gone],
    ['unknown outcomes', () => new OutcomeUnknown('no answer')],
  ])('a target with %s gets no more orders, and recovery gets one report', async (_how, error) => {
    const { circuits, told, ends } = setUp();
    await ends(error());
    expect(circuits.limitOf(TARGET)).toBe(MAX);
    await ends(error());
    expect(circuits.limitOf(TARGET)).toBe(0);
    expect(circuits.whyWaiting(TARGET)).toBe(`the circuit of ${TARGET} is open`);
    expect(told).toMatchObject([{ target: TARGET, state: 'open', executor: SELF }]);
  });

  test('an open circuit stops an order that already had a slot', async () => {
    const { circuits, ends, fails } = setUp();
    await fails();
    let left = false;
    const late = circuits.guard(TARGET, new AbortController().signal, () => {
      left = true;
      return Promise.resolve({});
    });
    await expect(late).rejects.toMatchObject({ body: { code: 'EXECUTOR_TARGET_UNAVAILABLE' } });
    expect(left).toBe(false);
    expect(await ends()).toBeInstanceOf(CleanFailure);
  });

  test('a circuit affects neither other targets nor orders without a target', async () => {
    const { circuits, fails } = setUp();
    await fails(5);
    expect(circuits.limitOf('https://other.example')).toBe(MAX);
    const { signal } = new AbortController();
    expect(await circuits.guard(undefined, signal, () => Promise.resolve(7))).toBe(7);
  });
});

describe('errors that are not failures of the target', () => {
  test.each([
    ['a refusal', refused],
    ['an expired lease', () => new LeaseOver(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'late'))],
    ['a missing secret', () => new CleanFailure(errorBody('EXECUTOR_SECRET_UNKNOWN', 'none'))],
    ['a programming error', () => new TypeError('oops')],
  ])('%s opens no circuit, and is rethrown', async (_what, make) => {
    const { circuits, told, ends } = setUp();
    for (let i = 0; i < 10; i += 1) {
      const error = make();
      expect(await ends(error)).toBe(error);
    }
    expect([circuits.limitOf(TARGET), told]).toEqual([MAX, []]);
  });

  test('a cancelled call opens no circuit', async () => {
    const { circuits, told } = setUp();
    for (let i = 0; i < 10; i += 1)
      await circuits.guard(TARGET, AbortSignal.abort(), () => Promise.reject(gone())).catch(() => undefined);
    expect([circuits.limitOf(TARGET), told]).toEqual([MAX, []]);
  });
});

describe('states from recovery', () => {
  test('an executor without failures of its own follows the state of recovery', () => {
    const { circuits, changed } = setUp();
    circuits.update({ target: TARGET, state: 'open' });
    expect([circuits.limitOf(TARGET), changed]).toEqual([0, [TARGET, TARGET]]);
    circuits.update({ target: TARGET, state: 'half_open', executor: 'executor-2' });
    expect(circuits.limitOf(TARGET)).toBe(0);
    circuits.update({ target: TARGET, state: 'half_open', executor: SELF });
    expect(circuits.limitOf(TARGET)).toBe(1);
    circuits.update({ target: TARGET, state: 'closed' });
    expect(circuits.limitOf(TARGET)).toBe(MAX);
  });

  test('only an executor with a waiting order asks for the trial slot', () => {
    const { circuits, told, waited } = setUp();
    circuits.update({ target: TARGET, state: 'half_open' });
    expect(told).toEqual([]);
    waited.add(TARGET);
    circuits.update({ target: TARGET, state: 'half_open' });
    expect(told).toEqual([{ target: TARGET, state: 'half_open', executor: SELF }]);
  });

  test.each([
    ['answers', undefined, 'closed', MAX],
    ['refuses, and so is available', refused(), 'closed', MAX],
    ['fails', gone(), 'open', 0],
  ] as const)('recovery lets one executor try: the target %s', async (_how, error, state, limit) => {
    const { circuits, told, ends } = setUp();
    circuits.update({ target: TARGET, state: 'open' });
    circuits.update({ target: TARGET, state: 'half_open', executor: SELF });
    await ends(error);
    expect(told).toMatchObject([{ state, executor: SELF }]);
    expect(circuits.limitOf(TARGET)).toBe(limit);
  });

  test('a circuit that is missing from the list is closed', async () => {
    const { circuits, fails, told } = setUp();
    circuits.updateAll([{ target: TARGET, state: 'open' }], clock.now());
    expect(circuits.limitOf(TARGET)).toBe(0);
    circuits.updateAll([], clock.now());
    expect(circuits.limitOf(TARGET)).toBe(MAX);
    // Unless this executor has changed the state itself, and its report is not processed yet: then it reports again.
    await fails();
    circuits.updateAll([], clock.now());
    expect(circuits.limitOf(TARGET)).toBe(0);
    vi.advanceTimersByTime(5_000);
    expect(told.length).toBeGreaterThan(1);
  });
});

describe('recovery is unreachable', () => {
  test('an executor lets one order try after a while, and follows its result', async () => {
    const { circuits, ends, fails } = setUp();
    await fails();
    vi.advanceTimersByTime(OPEN_MS);
    expect(circuits.limitOf(TARGET)).toBe(1);
    await ends(gone());
    expect(circuits.limitOf(TARGET)).toBe(0);
    vi.advanceTimersByTime(OPEN_MS);
    await ends();
    expect(circuits.limitOf(TARGET)).toBe(MAX);
  });

  test('a cancelled trial proves nothing', async () => {
    const { circuits, fails } = setUp();
    await fails();
    vi.advanceTimersByTime(OPEN_MS);
    await circuits.guard(TARGET, AbortSignal.abort(), () => Promise.reject(gone())).catch(() => undefined);
    expect(circuits.limitOf(TARGET)).toBe(0);
  });

  test('a state from recovery expires when recovery is silent', () => {
    const { circuits } = setUp();
    circuits.update({ target: TARGET, state: 'half_open', executor: 'executor-2' });
    vi.advanceTimersByTime(LONG_MS);
    expect(circuits.limitOf(TARGET)).toBe(MAX);
  });
});
