import { EffectEvent } from '@holdpoint/contracts/effect/events';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { acts } from '../../testing/messages.ts';
import { decider, verify } from '../../testing/orders.ts';
import { whyRefused } from './admission.ts';
import { type EffectState, entryIn } from './state.ts';

test('any sequence of messages keeps every law of a decider', () => {
  fc.assert(fc.property(acts, (sequence) => void holdsEveryLaw(decider, sequence)));
});

test('every event is valid by the contract', () => {
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

/** Whether a person has said of this very doubt that it is to be done again, and it is not too late for that. */
const isAllowed = (said: readonly EffectEvent[], state: EffectState, now: number): boolean =>
  state.status === 'in_doubt' &&
  said.some(
    (event) =>
      event.type === 'answered' &&
      event.answer === 'retry' &&
      event.epoch === state.entry.epoch &&
      now < (event.until ?? 0),
  );

test('nothing starts without a valid grant or a valid answer of an operator', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const said: EffectEvent[] = [];
      for (const { before, made, now } of runOf(decider, sequence)) {
        const started = made.events.filter((event) => event.type === 'started');
        const refused = started.flatMap(({ order }) => whyRefused(order, now, verify) ?? []);
        expect(isAllowed(said, before, now) ? [] : refused).toEqual([]);
        said.push(...made.events);
      }
    }),
  );
});

test('a cancelled effect does not start unless an operator asks for it later', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      let calledOff = false;
      for (const event of eventsOf(runOf(decider, sequence))) {
        if (event.type === 'cancel_requested' || event.type === 'cancelled') calledOff = true;
        if (event.type === 'answered' && event.answer === 'retry') calledOff = false;
        expect({ event: event.type, calledOff }).not.toEqual({ event: 'started', calledOff: true });
      }
    }),
  );
});

test('only the target or an operator turns a doubt into not applied', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      for (const { before, made } of runOf(decider, sequence)) {
        const types = made.events.map(({ type }) => type);
        if (!types.includes('not_applied')) continue;
        const [said] = made.events;
        const words =
          said?.type === 'probed' ? said.found : said?.type === 'answered' ? said.answer : undefined;
        expect({ before: before.status, types, words }).toEqual({
          before: 'in_doubt',
          types: [said?.type, 'not_applied'],
          words: 'not_applied',
        });
      }
    }),
  );
});

test('a statement counts once, and only for its own doubt', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const answered: number[] = [];
      for (const { before, made } of runOf(decider, sequence)) {
        for (const event of made.events) {
          if (event.type !== 'answered') continue;
          expect(answered).not.toContain(event.epoch);
          expect(before).toMatchObject({ status: 'in_doubt', next: 'person', entry: { epoch: event.epoch } });
          answered.push(event.epoch);
        }
      }
    }),
  );
});

test('work begins with a recorded start, and one start is in force at a time', () => {
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

/** Events that may follow an outcome. */
const KEPT_BESIDE: ReadonlySet<EffectEvent['type']> = new Set(['superseded', 'duplicate_prevented']);

test('applied and cancelled are final unless a journal has a later start', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      for (const { message, before, after, made } of runOf(decider, sequence)) {
        if (before.status !== 'applied' && before.status !== 'cancelled') continue;
        if (before.status === 'cancelled' && message.kind === 'journalled') continue;
        expect(after.status).toBe(before.status);
        expect(made.events.filter(({ type }) => !KEPT_BESIDE.has(type))).toEqual([]);
        // Running starts may be aborted; none begins.
        expect(made.work.filter(({ kind }) => kind !== 'abort')).toEqual([]);
      }
    }),
  );
});

test('a running effect has a lease, a doubt is offered again, and an order waits without a timer', () => {
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
        const waits = after.status === 'in_doubt' && after.next !== 'person';
        expect([...set]).toEqual(after.status === 'started' ? ['lease'] : waits ? ['slot'] : []);
      }
    }),
  );
});
