import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { keysIn } from '@holdpoint/contracts/effect/check-grant';
import type { EndClaim } from '@holdpoint/contracts/effect/remote';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { WAIT_MAX_MS } from '@holdpoint/contracts/workflow/side-effect';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { WorkerLine } from '../activation/session/port.ts';
import { createTestGate, type TestGateOptions } from '../testing/gate.ts';
import { createTimeline } from '../testing/timeline.ts';
import { runClaimant } from './claimant.ts';
import type { ClaimRequests } from './connection.ts';
import { defineEffect, type EffectOptions, type RemoteContext } from './define-effect.ts';
import { nothingHappened } from './effect-errors.ts';

const Args = z.object({ charge: z.string() });
type Outputs = { readonly refund: string };
const away = (): never => {
  throw new HoldpointError('RUNTIME_UNAVAILABLE', 'the network is away');
};

/** A fake clock whose time passes while nothing else happens. */
const start = (
  more: Partial<EffectOptions<z.infer<typeof Args>, Outputs>> = {},
  over: (say: ClaimRequests) => Partial<ClaimRequests> = () => ({}),
  gateOptions: TestGateOptions = {},
) => {
  const timeline = createTimeline();
  const { clock = { now: timeline.now, after: timeline.after, every: () => expect.fail('unused') } } =
    gateOptions;
  const now = (): number => 1_800_000_000_000 + timeline.now();
  const gate = createTestGate({ now, ...gateOptions, clock });
  let runs = 0;
  const effect = defineEffect({
    name: 'refund',
    input: Args,
    key: ({ charge }) => charge,
    run: ({ charge }): Outputs => ({ refund: `re_${charge}` }),
    ...more,
  });
  const counted = { ...effect.options };
  const wrapped = defineEffect({
    ...counted,
    run: (args, context) => {
      runs += 1;
      return effect.options.run(args, context);
    },
  });
  const lines: WorkerLine[] = [];
  const keys = async () => keysIn(await gate.connection.keys());
  const claimant = () =>
    runClaimant({
      say: { ...gate.connection, ...over(gate.connection) },
      clock,
      now,
      key: generateKeyPairSync('ed25519').privateKey,
      claimName: randomUUID,
      trust: { keys, refresh: keys },
      effects: [wrapped],
      name: 'test',
      concurrency: 2,
      waitMs: 25_000,
      leaseMs: 30_000,
      drainMs: 30_000,
      log: (line) => void lines.push(line),
    });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  };
  const advance = async (ms: number): Promise<void> => {
    const until = timeline.now() + ms;
    await settle();
    for (let next = timeline.nextAt(); next !== undefined && next <= until; next = timeline.nextAt()) {
      timeline.moveTo(next);
      await settle();
    }
    timeline.moveTo(until);
    await settle();
  };
  const hold = async (charge = 'ch_1') => {
    await gate.connection.register(wrapped.definition);
    return wrapped.hold(gate.connection, { charge });
  };
  const run = () => {
    const running = claimant();
    onTestFinished(() => void running.stop());
    return running;
  };
  return { gate, effect: wrapped, hold, run, advance, runs: () => runs, lines };
};

test('an approved effect runs once, and its outputs arrive', async () => {
  const { hold, run, advance, runs, gate } = start();
  const held = await hold();
  run();
  await advance(100);
  expect(gate.effects()).toMatchObject([{ state: 'applied', outputs: { refund: 're_ch_1' } }]);
  expect(await held.wait()).toEqual({ refund: 're_ch_1' });
  expect(runs()).toBe(1);
});

test('an effect that is not approved never runs', async () => {
  const { hold, run, advance, runs, gate } = start({}, undefined, { decide: () => 'wait' });
  const held = await hold();
  run();
  await advance(120_000);
  expect(runs()).toBe(0);
  gate.decide(held.id, 'reject', 'not this one');
  await expect(held.wait()).rejects.toMatchObject({ name: 'EffectRejected', message: 'not this one' });
});

test('a claim whose answer is lost is repeated under its name, and the order runs once', async () => {
  let lost = 0;
  const names = new Set<string>();
  const { hold, run, advance, runs, gate } = start({}, (say) => ({
    claim: async (claim) => {
      const answer = await say.claim(claim);
      if (answer.items.length === 0) return answer;
      names.add(claim.claim);
      lost += 1;
      return lost <= 3 ? away() : answer;
    },
  }));
  await hold();
  run();
  await advance(20_000);
  expect({ runs: runs(), lost, names: names.size }).toEqual({ runs: 1, lost: 4, names: 1 });
  expect(gate.effects()).toMatchObject([{ state: 'applied' }]);
});

test('an order that arrives twice runs once', async () => {
  const { hold, run, advance, runs } = start({}, (say) => ({
    claim: async (claim) => {
      const { items } = await say.claim(claim);
      return { items: [...items, ...items] };
    },
  }));
  await hold();
  run();
  await advance(1_000);
  expect(runs()).toBe(1);
});

test('an end whose answer is lost is repeated until it is recorded', async () => {
  const statuses: unknown[] = [];
  const { hold, run, advance, runs, gate } = start({}, (say) => ({
    end: async (end) => {
      statuses.push((await say.end(end)).status);
      return statuses.length < 3 ? away() : { id: end.id, epoch: end.epoch, status: 'repeated' };
    },
  }));
  await hold();
  run();
  await advance(10_000);
  expect(statuses).toEqual(['recorded', 'repeated', 'repeated']);
  expect(runs()).toBe(1);
  expect(gate.effects()).toMatchObject([{ state: 'applied' }]);
});

test('an end that never leaves leaves the effect in doubt, and nothing runs again', async () => {
  const { hold, run, advance, runs, gate } = start({}, () => ({
    end: async () => away(),
    beat: async () => away(),
  }));
  const held = await hold();
  run();
  await advance(300_000);
  expect(runs()).toBe(1);
  expect(gate.effects()).toMatchObject([{ state: 'in_doubt' }]);
  await expect(held.wait()).rejects.toMatchObject({ name: 'EffectInDoubt' });
});

test('beats keep the lease of a function that takes long', async () => {
  let finish = (): void => undefined;
  const { hold, run, advance, gate } = start({
    run: () => new Promise<Outputs>((resolve) => (finish = () => resolve({ refund: 'late' }))),
  });
  await hold();
  run();
  await advance(600_000);
  expect(gate.effects()).toMatchObject([{ state: 'running' }]);
  finish();
  await advance(100);
  expect(gate.effects()).toMatchObject([{ state: 'applied', outputs: { refund: 'late' } }]);
});

test('a lost lease aborts the signal, and a late end changes nothing', async () => {
  const reasons: unknown[] = [];
  const { hold, run, advance, gate, runs, lines } = start(
    {
      run: ({ charge }, { signal }) =>
        new Promise<Outputs>((resolve) => {
          signal.addEventListener('abort', () => {
            reasons.push((signal.reason as HoldpointError).code);
            resolve({ refund: charge });
          });
        }),
    },
    () => ({ beat: async () => away() }),
  );
  await hold();
  run();
  await advance(60_000);
  expect(reasons).toEqual(['EXECUTOR_CLAIM_LOST']);
  expect(runs()).toBe(1);
  expect(gate.effects()).toMatchObject([{ state: 'in_doubt' }]);
  expect(lines).toContainEqual(
    expect.objectContaining({ fields: expect.objectContaining({ code: 'EXECUTOR_CLAIM_LOST' }) as unknown }),
  );
});

test('a cancellation aborts the signal, and the outcome stays that of the function', async () => {
  const { hold, run, advance, gate } = start({
    run: (_args, { signal }) =>
      new Promise<Outputs>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(nothingHappened('STOPPED', 'stopped in time')));
      }),
  });
  const held = await hold();
  run();
  await advance(100);
  await held.cancel();
  await advance(20_000);
  expect(gate.effects()).toMatchObject([{ state: 'failed', error: { code: 'REMOTE_STOPPED' } }]);
});

test.each([
  ['that states that nothing happened fails cleanly', nothingHappened('declined', 'no'), 'failed'],
  ['of any other kind leaves the effect in doubt', new Error('socket hang up'), 'in_doubt'],
])('an error %s', async (_, error, state) => {
  const { hold, run, advance, gate } = start({ run: () => Promise.reject(error) });
  await hold();
  run();
  await advance(1_000);
  expect(gate.effects()).toMatchObject([{ state }]);
});

test.each([
  ['of another type', { refund: 7 }, 'expected string'],
  ['of a function without a result', undefined, 'expected string'],
])('outputs %s do not fit: the effect is applied, and its holder learns that', async (_, returned, why) => {
  const { hold, run, advance, gate } = start({
    output: z.object({ refund: z.string() }),
    run: () => returned as never,
  });
  const held = await hold();
  run();
  await advance(1_000);
  expect(gate.effects()).toMatchObject([
    { state: 'applied', outputs: { outputsInvalid: expect.stringContaining(why) as string } },
  ]);
  await expect(held.wait()).rejects.toMatchObject({ code: 'PROGRAM_OUTPUT_INVALID' });
});

test('outputs are sent as their schema reads them', async () => {
  const { hold, run, advance, gate } = start({
    output: z.object({ refund: z.string() }),
    run: () => ({ refund: 're_1', raw: { secret: 'of the payment API' } }),
  });
  await hold();
  run();
  await advance(1_000);
  expect(gate.effects()).toMatchObject([{ state: 'applied', outputs: { refund: 're_1' } }]);
  expect(Object.keys(gate.effects()[0]?.outputs ?? {})).toEqual(['refund']);
});

test('a function that takes too long is aborted, and its outcome is unknown', async () => {
  const { hold, run, advance, gate } = start({ timeoutMs: 2_000, run: () => new Promise(() => undefined) });
  await hold();
  run();
  await advance(8_000);
  expect(gate.effects()).toMatchObject([{ state: 'in_doubt' }]);
});

test('a run of thirty days is not aborted at once', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let finish = (): void => undefined;
  let signal: AbortSignal | undefined;
  const options = {
    timeoutMs: WAIT_MAX_MS,
    run: ({ charge }: z.infer<typeof Args>, context: RemoteContext) => {
      ({ signal } = context);
      return new Promise<Outputs>((resolve) => (finish = () => resolve({ refund: charge })));
    },
  };
  const { hold, run, gate } = start(options, undefined, { clock: systemClock });
  await hold();
  run();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(signal?.aborted).toBe(false);
  expect(gate.effects()).toMatchObject([{ state: 'running' }]);
  finish();
  await vi.advanceTimersByTimeAsync(100);
  expect(gate.effects()).toMatchObject([{ state: 'applied', outputs: { refund: 'ch_1' } }]);
});

test('a probe does not prove that a silent start is over: a person has to tell', async () => {
  const { hold, run, advance, gate, runs } = start(
    {
      effectClass: 'probeable',
      run: () => new Promise(() => undefined),
      probe: () => 'not_applied',
    },
    () => ({ beat: async () => away() }),
  );
  const held = await hold();
  run();
  await advance(120_000);
  expect(gate.effects()).toMatchObject([{ state: 'in_doubt' }]);
  expect(runs()).toBe(1);
  gate.answer(held.id, 'not_applied');
  await expect(held.wait()).rejects.toMatchObject({ code: 'EXECUTOR_NOT_APPLIED' });
});

test('assertInForce throws after the lease was lost', async () => {
  const learnt: unknown[] = [];
  let ask = (): void => undefined;
  const { hold, run, advance } = start(
    {
      run: async ({ charge }, { assertInForce }) => {
        await assertInForce();
        await new Promise<void>((resolve) => (ask = resolve));
        await assertInForce().catch((error: HoldpointError) => learnt.push(error.code));
        return { refund: charge };
      },
    },
    (say) => ({
      beat: async (beat) =>
        learnt.length === 0 && isLate
          ? { items: beat.items.map((each) => ({ ...each, state: 'lost', leaseMs: 0 })) }
          : say.beat(beat),
    }),
  );
  let isLate = false;
  await hold();
  run();
  await advance(100);
  isLate = true;
  ask();
  await advance(100);
  expect(learnt).toEqual(['EXECUTOR_CLAIM_LOST']);
});

test('assertInForce throws when the answer of the ledger is older than the lease', async () => {
  const learnt: unknown[] = [];
  let answer = (): void => undefined;
  const { hold, run, advance } = start(
    {
      run: async ({ charge }, { assertInForce }) => {
        await assertInForce().catch((error: HoldpointError) => learnt.push(error.code));
        return { refund: charge };
      },
    },
    (say) => {
      let beats = 0;
      return {
        beat: async (beat) => {
          beats += 1;
          // The process is frozen before it hears the answer to its first beat, and its later ones get none.
          if (beats > 1) return new Promise(() => undefined);
          const held = await say.beat(beat);
          await new Promise<void>((resolve) => (answer = resolve));
          return held;
        },
      };
    },
  );
  await hold();
  run();
  await advance(31_000);
  expect(learnt).toEqual([]);
  answer();
  await advance(0);
  expect(learnt).toEqual(['EXECUTOR_CLAIM_LOST']);
});

test('an order for other arguments than the approved ones is refused and never runs', async () => {
  const ends: EndClaim[] = [];
  const { hold, run, advance, runs } = start({}, (say) => ({
    claim: async (claim) => {
      const { items } = await say.claim(claim);
      return {
        items: items.map((each) => ({
          ...each,
          order: { ...each.order, effect: { ...each.order.effect, args: { charge: 'ch_2' } } },
        })),
      };
    },
    end: (end) => {
      ends.push(end);
      return say.end(end);
    },
  }));
  await hold();
  run();
  await advance(1_000);
  expect(runs()).toBe(0);
  expect(ends).toMatchObject([{ result: { kind: 'failed_clean', error: { code: 'REMOTE_GRANT_REFUSED' } } }]);
});

test('an answer that travelled longer than half of its lease is confirmed before the start', async () => {
  const { hold, run, advance, runs, gate } = start({}, (say) => ({
    claim: async (claim) => {
      const answer = await say.claim(claim);
      if (answer.items.length > 0) await stall();
      return answer;
    },
  }));
  let stall = (): Promise<void> => new Promise((resolve) => (release = resolve));
  let release = (): void => undefined;
  await hold();
  run();
  await advance(45_000);
  stall = () => Promise.resolve();
  release();
  await advance(1_000);
  expect(runs()).toBe(0);
  expect(gate.effects()).toMatchObject([{ state: 'in_doubt' }]);
});

test('a stop waits for running functions and starts no other', async () => {
  let finish = (): void => undefined;
  const { hold, run, advance, gate, runs } = start({
    run: ({ charge }) => new Promise<Outputs>((resolve) => (finish = () => resolve({ refund: charge }))),
  });
  await hold();
  const running = run();
  await advance(100);
  const stopped = running.stop();
  await advance(100);
  await hold('ch_2');
  finish();
  await advance(100);
  await stopped;
  expect(runs()).toBe(1);
  expect(gate.effects()).toMatchObject([{ state: 'applied' }, { state: 'approved' }]);
});
