import { EffectEvent } from '@holdpoint/contracts/effect';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { acts } from '../testing/messages.ts';
import { decider, verify } from '../testing/orders.ts';
import { whyRefused } from './admission.ts';
import { entryIn } from './ledger.ts';

test('any messages in any order keep every law of a decider', () => {
  fc.assert(fc.property(acts, (sequence) => void holdsEveryLaw(decider, sequence)));
});

test('every event is one that the contract allows', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      for (const event of eventsOf(runOf(decider, sequence))) {
        const sent: unknown = JSON.parse(JSON.stringify(event));
        expect(EffectEvent.parse(sent)).toEqual(sent);
      }
    }),
  );
});

test('epochs only rise, and each start and each doubt takes a new one', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const taken = eventsOf(runOf(decider, sequence)).flatMap((event) =>
        event.type === 'started' || event.type === 'in_doubt' ? [event.epoch] : [],
      );
      expect(taken).toEqual([...new Set(taken)].toSorted((a, b) => a - b));
    }),
  );
});

test('nothing starts without a grant that holds for it at that moment', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      for (const { made, now } of runOf(decider, sequence)) {
        const started = made.events.filter((event) => event.type === 'started');
        expect(started.flatMap(({ order }) => whyRefused(order, now, verify) ?? [])).toEqual([]);
      }
    }),
  );
});

test('work begins with a recorded start, one at a time, and never in a state that has another in force', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      for (const { before, made, after } of runOf(decider, sequence)) {
        const begun = made.work.flatMap((work) =>
          work.kind === 'start' ? [{ epoch: work.epoch, order: work.order }] : [],
        );
        const recorded = made.events.flatMap((event) =>
          event.type === 'started' ? [{ epoch: event.epoch, order: event.order }] : [],
        );
        expect(begun).toEqual(recorded);
        if (begun.length === 0) continue;
        expect(before.status).not.toBe('started');
        expect({ status: after.status, epoch: entryIn(after)?.epoch }).toEqual({
          status: 'started',
          epoch: begun[0]?.epoch,
        });
      }
    }),
  );
});

test('applied is for ever, and so is cancelled, unless a journal says that it was started', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      for (const { message, before, after, made } of runOf(decider, sequence)) {
        if (before.status !== 'applied' && before.status !== 'cancelled') continue;
        if (before.status === 'cancelled' && message.kind === 'journalled') continue;
        expect(after.status).toBe(before.status);
        expect(made.events.filter(({ type }) => type !== 'superseded')).toEqual([]);
        // What still runs may be told to end; nothing begins.
        expect(made.work.filter(({ kind }) => kind !== 'abort')).toEqual([]);
      }
    }),
  );
});

test('whatever runs has a lease, and whatever waits for a place is offered again', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const set = new Set<string>();
      for (const { message, made, after } of runOf(decider, sequence)) {
        // A timer that fired is gone, unless it is set again.
        if (message.kind === 'timer') set.delete(message.name);
        for (const timer of made.timers) {
          if ('set' in timer) set.add(timer.set);
          else set.delete(timer.clear);
        }
        const waits = after.status === 'prepared' || (after.status === 'in_doubt' && after.next === 'repeat');
        expect([...set]).toEqual(after.status === 'started' ? ['lease'] : waits ? ['place'] : []);
      }
    }),
  );
});
