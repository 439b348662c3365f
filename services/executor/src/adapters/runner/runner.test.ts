import { once } from 'node:events';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import type { Routed } from '@holdpoint/runtime/engine/inbound';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type Capability, CleanFailure, type EffectContext, OutcomeUnknown } from '../../ports/capability.ts';
import { createHandlerRegistry } from '../../ports/handler-registry.ts';
import type { EffectMessage } from '../../effect/decide.ts';
import type { Deferral } from '../../effect/state.ts';
import { LEASE_MS } from '../../effect/timing.ts';
import { contextFor } from '../../../testing/context.ts';
import { bareOrderFor, EFFECT, effectOf, orderFor, workOf } from '../../../testing/orders.ts';
import { createSlots } from '../slots/slots.ts';
import { allEndedFor, type JournalStart } from './execute.ts';
import { createRunner, type ToEffect } from './runner.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const order = orderFor();
const other = orderFor(effectOf({ idempotencyKey: 'other' }));
const Input = z.object({ file: z.string(), line: z.string() });

/** Lets all pending promises settle. */
const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
};

const noContext = contextFor();
const noted: JournalStart = () => Promise.resolve();

/** A runner with one capability, and everything that it hands back. */
const running = (
  run: Capability<typeof Input>['run'],
  count = 2,
  note: JournalStart = noted,
  heldBy: () => Deferral | undefined = () => undefined,
) => {
  const slots = createSlots({ worker: 'worker-1' }, count);
  const runner = createRunner({
    capabilities: createHandlerRegistry([{ uses: 'cap.file.append', input: Input, run }]),
    slots: slots,
    clock: systemClock,
    journalStart: note,
    deferralOf: () => heldBy,
    log: silentLogger(),
  });
  const handed: Routed<ToEffect>[] = [];
  const accept = (routed: Routed<ToEffect>): void => void handed.push(routed);
  const start = (which = order, epoch = 1): number => {
    const slot = slots.take(which)?.slot ?? 0;
    runner.perform({ kind: 'start', order: which, epoch, slot }, accept);
    return slot;
  };
  return { slots, runner, handed, accept, start, messages: () => handed.map(({ message }) => message) };
};

/** Runs until the test ends it. */
const held = () => {
  const contexts: EffectContext[] = [];
  const ends: (() => void)[] = [];
  const run: Capability<typeof Input>['run'] = (_, context) => {
    contexts.push(context);
    return new Promise((resolve) => ends.push(() => resolve({ done: true })));
  };
  return { contexts, ends, run };
};

describe('reported outcomes', () => {
  test('an effect is applied when its capability returns', async () => {
    const { start, handed, slots } = running((input, { effectId, epoch }) =>
      Promise.resolve({ ...input, effectId, epoch }),
    );
    start(order, 3);
    await settle();
    const outcome = {
      kind: 'applied',
      outputs: { file: 'sample.txt', line: 'hello', effectId: EFFECT, epoch: 3 },
    };
    expect(handed).toEqual([
      { kind: 'effect', aggregate: EFFECT, message: { kind: 'outcome', epoch: 3, outcome } },
    ]);
    expect(slots.inUse()).toBe(0);
  });

  test('an effect fails cleanly when its capability reports that nothing happened', async () => {
    const error = errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'busy');
    const { start, messages } = running(() => Promise.reject(new CleanFailure(error)));
    start();
    await settle();
    expect(messages()).toEqual([{ kind: 'outcome', epoch: 1, outcome: { kind: 'failed_clean', error } }]);
  });

  test('an effect is unknown after any other error, whose message stays in the executor', async () => {
    const { start, messages } = running(() => Promise.reject(new Error('password sesame')));
    start();
    await settle();
    expect(messages()).toMatchObject([{ kind: 'outcome', epoch: 1, outcome: { kind: 'unknown' } }]);
    expect(JSON.stringify(messages())).not.toContain('sesame');
  });

  test('an effect is unknown with the reason for the operator', async () => {
    const secret = new Error('password sesame');
    const { start, messages } = running(() =>
      Promise.reject(new OutcomeUnknown('the target answered 500', { cause: secret })),
    );
    start();
    await settle();
    const outcome = { kind: 'unknown', reason: 'the target answered 500' };
    expect(messages()).toEqual([{ kind: 'outcome', epoch: 1, outcome }]);
  });

  test('an effect is unknown when its capability throws at once', async () => {
    const { start, messages, slots } = running(() => {
      throw new Error('at once');
    });
    start();
    await settle();
    expect(messages()).toMatchObject([{ outcome: { kind: 'unknown' } }]);
    expect(slots.inUse()).toBe(0);
  });

  test('an effect fails cleanly when this executor lacks its capability', async () => {
    const { start, messages } = running(() => Promise.resolve({}));
    start(orderFor(effectOf({ uses: 'cap.file.delete' })));
    await settle();
    expect(messages()).toMatchObject([
      { outcome: { kind: 'failed_clean', error: { code: 'EXECUTOR_UNKNOWN_CAPABILITY' } } },
    ]);
  });

  test('an effect fails cleanly when its arguments are invalid, with all problems', async () => {
    const { start, messages } = running(() => Promise.reject(new Error('never called')));
    start(orderFor(effectOf({ args: { file: 7 } })));
    await settle();
    expect(messages()).toMatchObject([
      { outcome: { kind: 'failed_clean', error: { code: 'EXECUTOR_INVALID_ARGUMENTS' } } },
    ]);
    expect(JSON.stringify(messages())).toMatch(/file: .*; line: /);
  });
});

describe('the journal before a start', () => {
  test('no effect begins before its start is in the journal', async () => {
    const { run, contexts } = held();
    const written: (() => void)[] = [];
    const noted: (readonly [string, number])[] = [];
    const note: JournalStart = ({ id }, epoch) => {
      noted.push([id, epoch]);
      return new Promise((resolve) => written.push(resolve));
    };
    const { start } = running(run, 2, note);
    start(order, 3);
    // Synchronous with the commit, so that the journal knows its position.
    expect(noted).toEqual([[EFFECT, 3]]);
    await settle();
    expect(contexts).toEqual([]);
    written[0]?.();
    await settle();
    expect(contexts).toHaveLength(1);
  });

  test('an unwritable journal is a clean failure', async () => {
    const { run, contexts } = held();
    const { start, messages, slots } = running(run, 2, () => Promise.reject(new Error('EIO')));
    start();
    await settle();
    expect(messages()).toMatchObject([
      { outcome: { kind: 'failed_clean', error: { code: 'EXECUTOR_JOURNAL_UNAVAILABLE' } } },
    ]);
    expect(contexts).toEqual([]);
    expect(slots.inUse()).toBe(0);
  });

  test('a start without a capability is not journalled', async () => {
    const { start, messages } = running(held().run, 2, () => Promise.reject(new Error('never called')));
    start(orderFor(effectOf({ args: { file: 7 } })));
    await settle();
    expect(messages()).toMatchObject([{ outcome: { error: { code: 'EXECUTOR_INVALID_ARGUMENTS' } } }]);
  });
});

describe('a running effect', () => {
  test('the lease is extended until the effect ends', async () => {
    vi.useFakeTimers();
    const { run, ends } = held();
    const { start, messages } = running(run);
    start(order, 5);
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    const beats = messages();
    expect(beats.length).toBeGreaterThanOrEqual(2);
    expect(new Set(beats.map((message) => JSON.stringify(message)))).toEqual(
      new Set([JSON.stringify({ kind: 'heartbeat', epoch: 5 })]),
    );
    ends[0]?.();
    await vi.advanceTimersByTimeAsync(LEASE_MS * 3);
    expect(messages().slice(beats.length)).toMatchObject([{ kind: 'outcome' }]);
  });

  test('an effect may begin while its lease is fresh by the monotonic clock', async () => {
    const { run, contexts } = held();
    const { start } = running(run);
    const begun = performance.now();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(begun);
    start();
    await settle();
    expect(() => contexts[0]?.assertInForce()).not.toThrow();
    clock.mockReturnValue(begun + LEASE_MS);
    expect(() => contexts[0]?.assertInForce()).toThrow(CleanFailure);
  });

  test('an effect may not begin when its slot was taken too long ago', async () => {
    const { run, contexts } = held();
    const { runner, accept, slots } = running(run);
    const taken = performance.now();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(taken);
    const free = slots.take(order) ?? { worker: 'none', slot: 0 };
    const { slot, since } = runner.stamped(free);
    clock.mockReturnValue(taken + LEASE_MS);
    runner.perform({ kind: 'start', order, epoch: 1, slot, ...(since !== undefined && { since }) }, accept);
    await settle();
    expect(() => contexts[0]?.assertInForce()).toThrow(CleanFailure);
  });

  test('an abort stops one effect only', async () => {
    const { run, contexts } = held();
    const { start, runner, accept } = running(run);
    start(order);
    start(other);
    await settle();
    runner.perform({ kind: 'abort', id: order.id, epoch: 1 }, accept);
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    const { id } = orderFor(effectOf({ idempotencyKey: 'unheard of' }));
    runner.perform({ kind: 'abort', id, epoch: 1 }, accept);
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  });

  test('the end of a start does not hide a repeat of the same effect', async () => {
    const { run, contexts, ends } = held();
    const { start, runner, accept } = running(run);
    const [first, second] = [start(order, 1), start(order, 3)];
    await settle();
    ends[0]?.();
    await settle();
    expect([runner.usesSlot(first), runner.usesSlot(second)]).toEqual([false, true]);
    runner.perform({ kind: 'abort', id: order.id, epoch: 3 }, accept);
    expect(contexts[1]?.signal.aborted).toBe(true);
  });
});

describe('interrupted work', () => {
  const work = bareOrderFor(workOf({ uses: 'cap.file.append', args: effectOf().args }));
  const unknown = { kind: 'outcome', epoch: 1, outcome: { kind: 'unknown', reason: 'it was interrupted' } };
  const endingWith = (end: () => Promise<JsonObject>) =>
    running(async (_, { signal }) => {
      await once(signal, 'abort');
      return end();
    });

  test.each([
    ['returns', () => Promise.resolve({ outcome: 'failed' })],
    ['fails cleanly', () => Promise.reject(new CleanFailure(errorBody('EXECUTOR_CANCELLED', 'called off')))],
    ['fails', () => Promise.reject(new Error('killed'))],
  ])('interrupted work that %s is unknown', async (_, end) => {
    const { start, runner, accept, messages } = endingWith(end);
    start(work);
    await settle();
    runner.perform({ kind: 'abort', id: work.id, epoch: 1 }, accept);
    await vi.waitFor(() => expect(messages()).toEqual([unknown]));
  });

  test('interrupted work is repeated after any result', async () => {
    const { start, runner, messages } = endingWith(() => Promise.resolve({ outcome: 'succeeded' }));
    start(work);
    await settle();
    // Not awaited, although there would be time.
    await runner.stop(60_000);
    expect(messages()).toEqual([unknown]);
  });

  test('an interrupted effect is trusted, and has time to end', async () => {
    const { run, ends, contexts } = held();
    const { start, runner, messages } = running(run);
    start();
    start(work);
    await settle();
    const stopped = runner.stop(60_000);
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([false, true]);
    for (const end of ends) end();
    await stopped;
    expect(messages()).toEqual([
      { kind: 'outcome', epoch: 1, outcome: { kind: 'applied', outputs: { done: true } } },
      unknown,
    ]);
  });

  test('work may begin something while the ledger decides its heartbeats', async () => {
    vi.useFakeTimers();
    const { run, contexts } = held();
    const { start, handed } = running(run);
    start(work);
    start();
    await vi.advanceTimersByTimeAsync(LEASE_MS / 2);
    const [{ assertInForce: workBegins } = noContext, { assertInForce: effectBegins } = noContext] = contexts;
    expect(workBegins).not.toThrow();
    expect(effectBegins).toThrow(CleanFailure);
    // Decided heartbeats extend the lease of work, but not of an effect.
    for (const { onDone } of handed) onDone?.();
    await vi.advanceTimersByTimeAsync(LEASE_MS / 2);
    expect(workBegins).not.toThrow();
    expect(effectBegins).toThrow(CleanFailure);
    await vi.advanceTimersByTimeAsync(LEASE_MS / 2);
    expect(workBegins).toThrow(CleanFailure);
  });
});

describe('the output of a start', () => {
  test('output is published until the start ends', async () => {
    const heard: string[] = [];
    const slots = createSlots({ worker: 'worker-1' }, 1);
    const runner = createRunner({
      capabilities: createHandlerRegistry([
        {
          uses: 'cap.file.append',
          input: Input,
          run: (_: unknown, { say, order: { id } }: EffectContext) => {
            say('stderr', id);
            return Promise.resolve({});
          },
        },
      ]),
      slots: slots,
      clock: systemClock,
      journalStart: noted,
      linesOf: ({ id }, epoch) => ({
        print: (stream, line) => void heard.push(`${id} ${String(epoch)} ${stream} ${line}`),
        end: () => {
          heard.push('end');
          return Promise.resolve(undefined);
        },
      }),
      log: silentLogger(),
    });
    runner.perform({ kind: 'start', order, epoch: 3, slot: 1 }, () => undefined);
    await settle();
    expect(heard).toEqual([`${EFFECT} 3 stderr ${EFFECT}`, 'end']);
  });
});

describe('an effect that waits for a slot', () => {
  const waits = (which = order) => ({ kind: 'await_slot', order: which }) as const;

  test('a waiting effect claims a free slot', () => {
    const { runner, accept, messages } = running(held().run);
    runner.perform(waits(), accept);
    expect(messages()).toMatchObject([{ kind: 'claim', id: EFFECT, slot: { worker: 'worker-1' } }]);
  });

  test('a waiting effect returns the slot of a claim that started nothing', () => {
    const { runner, accept, handed, slots } = running(held().run);
    runner.perform(waits(), accept);
    runner.perform(waits(other), accept);
    const [first, second] = handed;
    const claimed = first?.message.kind === 'claim' ? first.message.slot.slot : 0;
    runner.perform({ kind: 'start', order, epoch: 1, slot: claimed }, accept);
    first?.onDone?.();
    expect(slots.inUse()).toBe(2);
    second?.onDone?.();
    expect(slots.inUse()).toBe(1);
  });

  test('a waiting effect is queued once, however often it is offered', async () => {
    const { run, ends } = held();
    const { runner, accept, start, handed, messages, slots } = running(run, 1);
    start(other);
    await settle();
    for (let i = 0; i < 5; i += 1) runner.perform(waits(), accept);
    ends[0]?.();
    await settle();
    expect(messages().map(({ kind }) => kind)).toEqual(['outcome', 'claim']);
    // A second waiter would have the slot now.
    handed.at(-1)?.onDone?.();
    expect(messages()).toHaveLength(2);
    expect(slots.inUse()).toBe(0);
  });

  test('a waiting effect reports its deferral until the ledger has stated it', async () => {
    const why = { target: 'https://a.example', reason: 'its circuit is open' };
    const circuits: (typeof why)[] = [];
    const { runner, accept, start, messages } = running(held().run, 1, noted, () => circuits[0]);
    start(other);
    await settle();
    runner.perform(waits(), accept);
    expect(messages()).toEqual([]);
    circuits.push(why);
    for (let i = 0; i < 2; i += 1) runner.perform(waits(), accept);
    runner.perform({ ...waits(), deferred: true }, accept);
    const message = { kind: 'deferred', attempt: 1, ...why };
    expect(messages()).toEqual([message, message]);
  });

  test('a waiting effect reports once that a circuit has opened meanwhile', () => {
    vi.useFakeTimers();
    const why = { target: 'https://a.example', reason: 'its circuit is open' };
    const circuits: (typeof why)[] = [];
    const { runner, accept, start, messages } = running(held().run, 1, noted, () => circuits[0]);
    start(other);
    runner.perform(waits(), accept);
    const deferred = () => messages().filter(({ kind }) => kind === 'deferred');
    vi.advanceTimersByTime(LEASE_MS);
    expect(deferred()).toEqual([]);
    circuits.push(why);
    vi.advanceTimersByTime(LEASE_MS * 2);
    expect(deferred()).toEqual([{ kind: 'deferred', attempt: 1, ...why }]);
  });

  test('an effect that gets a slot at once is not deferred', () => {
    const why = { target: 'https://a.example', reason: 'its circuit is half open' };
    const { runner, accept, messages } = running(held().run, 1, noted, () => why);
    runner.perform(waits(), accept);
    expect(messages()).toMatchObject([{ kind: 'claim' }]);
  });

  test('an effect can wait again after it had a slot', () => {
    const { runner, accept, handed } = running(held().run, 1);
    runner.perform(waits(), accept);
    handed[0]?.onDone?.();
    runner.perform(waits(), accept);
    expect(handed.map(({ message }) => message.kind)).toEqual(['claim', 'claim']);
  });
});

describe('stopping the runner', () => {
  test('stop waits for running effects', async () => {
    const { run, ends, contexts } = held();
    const { start, runner, messages } = running(run);
    start();
    await settle();
    const stopped = runner.stop(60_000);
    ends[0]?.();
    await stopped;
    expect(messages()).toMatchObject([{ kind: 'outcome', outcome: { kind: 'applied' } }]);
    expect(contexts[0]?.signal.aborted).toBe(false);
  });

  test('stop aborts effects that do not end', async () => {
    const { start, runner, messages } = running(
      (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve({ aborted: true }));
        }),
    );
    start();
    await runner.stop(1);
    expect(messages()).toMatchObject([{ outcome: { kind: 'applied', outputs: { aborted: true } } }]);
  });

  test('stop does not wait forever', async () => {
    const { start, runner, messages } = running(held().run);
    start();
    await runner.stop(1);
    expect(messages()).toEqual([]);
  });

  test('after stop a free slot is not claimed', async () => {
    const { runner, accept, messages, slots } = running(held().run);
    await runner.stop(1);
    runner.perform({ kind: 'await_slot', order }, accept);
    expect(messages()).toEqual([]);
    expect(slots.inUse()).toBe(0);
  });
});

describe('probing an effect in doubt', () => {
  type Probe = NonNullable<Capability<typeof Input>['probe']>;
  /** A runner with a probe. Only lost starts in the journal `mine` have ended. */
  const asking = (probe: Probe, run: Capability<typeof Input>['run'] = held().run) => {
    const slots = createSlots({ worker: 'worker-1' }, 2);
    const runner = createRunner({
      capabilities: createHandlerRegistry([{ uses: 'cap.file.append', input: Input, run, probe }]),
      slots: slots,
      clock: systemClock,
      journalStart: noted,
      allEnded: allEndedFor((journal) => journal === 'mine'),
      log: silentLogger(),
    });
    const handed: EffectMessage[] = [];
    const accept = ({ message }: Routed<ToEffect>): void => void handed.push(message);
    const look = (journal = 'mine'): number => {
      const slot = slots.take(order)?.slot ?? 0;
      const unended = [{ epoch: 1, journal }];
      runner.perform({ kind: 'probe', order, epoch: 2, slot, unended }, accept);
      return slot;
    };
    return { slots, runner, handed, accept, look };
  };
  const absent: Probe = () => Promise.resolve({ found: 'not_applied', reason: 'no such line' });
  /** Answers when the test resolves it, or on abort. */
  const pending = () => {
    const contexts: EffectContext[] = [];
    const probe: Probe = async (_, context) => {
      contexts.push(context);
      await once(context.signal, 'abort');
      throw new OutcomeUnknown('it was interrupted');
    };
    return { contexts, probe };
  };

  test('the result of a probe is reported', async () => {
    const { look, handed } = asking(absent);
    look();
    await settle();
    const finding = { found: 'not_applied', reason: 'no such line' };
    expect(handed).toEqual([{ kind: 'probed', epoch: 2, finding }]);
  });

  test('a probe takes a slot, and frees it', async () => {
    const { probe } = pending();
    const { look, runner, slots } = asking(probe);
    const slot = look();
    expect([runner.usesSlot(slot), slots.inUse()]).toEqual([true, 1]);
    await runner.stop(1);
    expect([runner.usesSlot(slot), slots.inUse()]).toEqual([false, 0]);
  });

  test('"not applied" is unproven while a start may be running elsewhere', async () => {
    const { look, handed } = asking(absent);
    look('theirs');
    await settle();
    expect(handed).toMatchObject([{ kind: 'probed', finding: { found: 'unproven' } }]);
  });

  test('"not applied" is unproven while a start is running here after its lease', async () => {
    const { run, ends } = held();
    const { look, handed, runner, accept, slots } = asking(absent, run);
    runner.perform({ kind: 'start', order, epoch: 1, slot: slots.take(order)?.slot ?? 0 }, accept);
    await settle();
    look();
    await settle();
    expect(handed).toMatchObject([{ kind: 'probed', finding: { found: 'unproven' } }]);
    for (const end of ends) end();
    await settle();
    look();
    await settle();
    expect(handed.at(-1)).toMatchObject({ kind: 'probed', finding: { found: 'not_applied' } });
  });

  test('a probe has no lease and sends no heartbeat', async () => {
    vi.useFakeTimers();
    const { probe } = pending();
    const { look, handed } = asking(probe);
    look();
    await vi.advanceTimersByTimeAsync(LEASE_MS * 3);
    expect(handed).toEqual([]);
  });

  test('an interrupted probe reports nothing', async () => {
    const { probe, contexts } = pending();
    const { look, runner, handed } = asking(probe);
    look();
    await settle();
    await runner.stop(60_000);
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true]);
    expect(handed).toEqual([]);
  });

  test('a stopping executor still reports a target that says "applied"', async () => {
    const { look, runner, handed } = asking(async (_, { signal }) => {
      await once(signal, 'abort');
      return { found: 'applied', reason: 'it is there' };
    });
    look();
    await runner.stop(60_000);
    expect(handed).toMatchObject([{ kind: 'probed', finding: { found: 'applied' } }]);
  });
});
