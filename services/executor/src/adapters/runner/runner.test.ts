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
import { LEASE_MS } from '../../effect/timing.ts';
import { contextFor } from '../../../testing/context.ts';
import { bareOrderFor, EFFECT, effectOf, orderFor, workOf } from '../../../testing/orders.ts';
import { createSlots } from '../slots/slots.ts';
import { allEndedFor, type JournalStart } from './execute.ts';
import { createRunner, type RunnerParts, type ToEffect } from './runner.ts';

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
  heldBy: RunnerParts['deferralOf'] = () => undefined,
) => {
  const slots = createSlots({ worker: 'worker-1' }, count);
  const runner = createRunner({
    capabilities: createHandlerRegistry([{ uses: 'cap.file.append', input: Input, run }]),
    slots: slots,
    clock: systemClock,
    journalStart: note,
    deferralOf: heldBy,
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

describe('what comes of an effect is handed back:', () => {
  test('applied, when the capability returns', async () => {
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

  test('failed cleanly, when it says that nothing happened', async () => {
    const error = errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'busy');
    const { start, messages } = running(() => Promise.reject(new CleanFailure(error)));
    start();
    await settle();
    expect(messages()).toEqual([{ kind: 'outcome', epoch: 1, outcome: { kind: 'failed_clean', error } }]);
  });

  test('unknown, when it fails in any other way; what it said stays here', async () => {
    const { start, messages } = running(() => Promise.reject(new Error('password sesame')));
    start();
    await settle();
    expect(messages()).toMatchObject([{ kind: 'outcome', epoch: 1, outcome: { kind: 'unknown' } }]);
    expect(JSON.stringify(messages())).not.toContain('sesame');
  });

  test('unknown, with the reason that whoever has to decide is meant to see', async () => {
    const secret = new Error('password sesame');
    const { start, messages } = running(() =>
      Promise.reject(new OutcomeUnknown('the target answered 500', { cause: secret })),
    );
    start();
    await settle();
    const outcome = { kind: 'unknown', reason: 'the target answered 500' };
    expect(messages()).toEqual([{ kind: 'outcome', epoch: 1, outcome }]);
  });

  test('unknown, when it fails at once', async () => {
    const { start, messages, slots } = running(() => {
      throw new Error('at once');
    });
    start();
    await settle();
    expect(messages()).toMatchObject([{ outcome: { kind: 'unknown' } }]);
    expect(slots.inUse()).toBe(0);
  });

  test('failed cleanly, when nobody here can do it', async () => {
    const { start, messages } = running(() => Promise.resolve({}));
    start(orderFor(effectOf({ uses: 'cap.file.delete' })));
    await settle();
    expect(messages()).toMatchObject([
      { outcome: { kind: 'failed_clean', error: { code: 'EXECUTOR_UNKNOWN_CAPABILITY' } } },
    ]);
  });

  test('failed cleanly, when its arguments are wrong, with every problem', async () => {
    const { start, messages } = running(() => Promise.reject(new Error('never called')));
    start(orderFor(effectOf({ args: { file: 7 } })));
    await settle();
    expect(messages()).toMatchObject([
      { outcome: { kind: 'failed_clean', error: { code: 'EXECUTOR_INVALID_ARGUMENTS' } } },
    ]);
    expect(JSON.stringify(messages())).toMatch(/file: .*; line: /);
  });
});

describe('before anything leaves, the start is noted in the journal:', () => {
  test('until that is on the disk nothing is begun', async () => {
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

  test('where it cannot be written, nothing is begun, and that is certain', async () => {
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

  test('what nobody here can do is not noted', async () => {
    const { start, messages } = running(held().run, 2, () => Promise.reject(new Error('never called')));
    start(orderFor(effectOf({ args: { file: 7 } })));
    await settle();
    expect(messages()).toMatchObject([{ outcome: { error: { code: 'EXECUTOR_INVALID_ARGUMENTS' } } }]);
  });
});

describe('while an effect runs', () => {
  test('its lease is extended, and no longer', async () => {
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

  test('it may begin as long as its lease is fresh by a clock that nobody sets', async () => {
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

  test('it may not begin when its start was heard of long after its slot was taken: its lease is as old as that', async () => {
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

  test('it can be told to stop, and no other with it', async () => {
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

  test('and a repeat of it as well, the end of the first does not hide the second', async () => {
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

describe('work that is interrupted', () => {
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
  ])('and %s', async (_, end) => {
    const { start, runner, accept, messages } = endingWith(end);
    start(work);
    await settle();
    runner.perform({ kind: 'abort', id: work.id, epoch: 1 }, accept);
    await vi.waitFor(() => expect(messages()).toEqual([unknown]));
  });

  test('says nothing of itself, whatever it returns: it is done again', async () => {
    const { start, runner, messages } = endingWith(() => Promise.resolve({ outcome: 'succeeded' }));
    start(work);
    await settle();
    // Not awaited, although there would be time.
    await runner.stop(60_000);
    expect(messages()).toEqual([unknown]);
  });

  test('but an effect is believed, and has time to end', async () => {
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

  test('may begin something for as long as the ledger hears of it', async () => {
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

describe('what a start prints', () => {
  test('goes to whoever watches this start, until it ends', async () => {
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

  test('claims it when there is one', () => {
    const { runner, accept, messages } = running(held().run);
    runner.perform(waits(), accept);
    expect(messages()).toMatchObject([{ kind: 'claim', id: EFFECT, slot: { worker: 'worker-1' } }]);
  });

  test('gives it back when the claim came to nothing, and keeps it when it started', () => {
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

  test('waits once, however often it is offered', async () => {
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

  test('says that its target holds it up, until that has been stated', async () => {
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

  test('and gets it at once is not held up, whatever else is', () => {
    const why = { target: 'https://a.example', reason: 'its circuit is half open' };
    const { runner, accept, messages } = running(held().run, 1, noted, () => why);
    runner.perform(waits(), accept);
    expect(messages()).toMatchObject([{ kind: 'claim' }]);
  });

  test('can wait again after it had its slot', () => {
    const { runner, accept, handed } = running(held().run, 1);
    runner.perform(waits(), accept);
    handed[0]?.onDone?.();
    runner.perform(waits(), accept);
    expect(handed.map(({ message }) => message.kind)).toEqual(['claim', 'claim']);
  });
});

describe('stopping', () => {
  test('waits for what runs', async () => {
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

  test('tells what does not end to stop', async () => {
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

  test('does not wait for ever', async () => {
    const { start, runner, messages } = running(held().run);
    start();
    await runner.stop(1);
    expect(messages()).toEqual([]);
  });

  test('begins nothing more: a slot that is free then is claimed by nobody', async () => {
    const { runner, accept, messages, slots } = running(held().run);
    await runner.stop(1);
    runner.perform({ kind: 'await_slot', order }, accept);
    expect(messages()).toEqual([]);
    expect(slots.inUse()).toBe(0);
  });
});

describe('an effect in doubt of which the target can tell', () => {
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

  test('is asked about, and what the target says is handed back', async () => {
    const { look, handed } = asking(absent);
    look();
    await settle();
    const finding = { found: 'not_applied', reason: 'no such line' };
    expect(handed).toEqual([{ kind: 'probed', epoch: 2, finding }]);
  });

  test('takes a slot while the target is asked, and gives it back', async () => {
    const { probe } = pending();
    const { look, runner, slots } = asking(probe);
    const slot = look();
    expect([runner.usesSlot(slot), slots.inUse()]).toEqual([true, 1]);
    await runner.stop(1);
    expect([runner.usesSlot(slot), slots.inUse()]).toEqual([false, 0]);
  });

  test('is not known not to have happened while a start of it may be under way elsewhere', async () => {
    const { look, handed } = asking(absent);
    look('theirs');
    await settle();
    expect(handed).toMatchObject([{ kind: 'probed', finding: { found: 'unproven' } }]);
  });

  test('nor while a start of it is under way here, whatever became of its lease', async () => {
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

  test('has no lease: nothing is heard of it until the target has answered', async () => {
    vi.useFakeTimers();
    const { probe } = pending();
    const { look, handed } = asking(probe);
    look();
    await vi.advanceTimersByTimeAsync(LEASE_MS * 3);
    expect(handed).toEqual([]);
  });

  test('is left to whoever asks next when this executor stops', async () => {
    const { probe, contexts } = pending();
    const { look, runner, handed } = asking(probe);
    look();
    await settle();
    await runner.stop(60_000);
    expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true]);
    expect(handed).toEqual([]);
  });

  test('is known to have happened though this executor stops, when the target has said so', async () => {
    const { look, runner, handed } = asking(async (_, { signal }) => {
      await once(signal, 'abort');
      return { found: 'applied', reason: 'it is there' };
    });
    look();
    await runner.stop(60_000);
    expect(handed).toMatchObject([{ kind: 'probed', finding: { found: 'applied' } }]);
  });
});
