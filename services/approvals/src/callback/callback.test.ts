import type { CallBack, CallbackEvent } from '@holdpoint/contracts/webhook/callback';
import { callbackIdOf, type EffectId, type TaskId } from '@holdpoint/contracts/values/ids';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { DELIVERY_ATTEMPTS_MAX } from '../approval/notices.ts';
import { type CallbackMessage, createCallbackDecider } from './callback.ts';

const TASK = 't-1' as TaskId;
const ID = callbackIdOf(TASK, 7);
const AT = 1_000_000;
const order: CallBack = {
  id: ID,
  task: TASK,
  callback: { url: 'https://ci.example/done' },
  held: { id: TASK, effect: 'e-1' as EffectId, capability: 'refund', key: 'refund:ch_1', state: 'applied' },
  at: AT,
};
const decider = createCallbackDecider();
const given = specFor(decider);
const ordered: CallbackEvent = { type: 'callback_ordered', ...order };
const delivered: CallbackEvent = { type: 'callback_delivered', id: ID, tries: 1, at: AT + 5 };
const missed = (tries: number): CallbackEvent => ({
  type: 'callback_missed',
  id: ID,
  tries,
  problem: 'the receiver answered 503',
  at: AT,
});
const callBack: CallbackMessage = { kind: 'call_back', payload: order };
const again = (tries: number): CallbackMessage => ({ kind: 'timer', name: 'send', data: { tries } });

describe('a callback', () => {
  test('an ordered callback is stored, confirmed to its task and sent, and a timer repeats it', () => {
    given()
      .when(callBack, AT)
      .thenEmits(ordered)
      .thenTimes({ set: 'send', dueAt: AT + 30_000, data: { tries: 1 } })
      .thenStarts({ kind: 'send_callback', order, tries: 1 });
    const { send } = decider.decide(undefined, callBack, { now: AT });
    expect(send).toMatchObject([{ subject: 'hp.cmd.task.callback_taken', data: { id: TASK, callback: ID } }]);
  });

  test('a repeated order is confirmed again under another id, and sends nothing', () => {
    const state = decider.evolve(undefined, ordered);
    const ids = [AT, AT + 1].flatMap((now) => {
      const { events, work, timers, send } = decider.decide(state, callBack, { now });
      expect([events, work, timers]).toEqual([[], [], []]);
      return send.map(({ id }) => id);
    });
    expect(new Set(ids).size).toBe(2);
  });

  test('a delivered callback is recorded once and never sent again', () => {
    given(ordered)
      .when({ kind: 'called_back', tries: 1 }, AT + 5)
      .thenEmits(delivered)
      .thenTimes({ clear: 'send' });
    for (const message of [
      { kind: 'called_back', tries: 1 },
      { kind: 'callback_missed', tries: 2, problem: 'late' },
      again(1),
    ] as const)
      given(ordered, delivered)
        .when(message, AT + 9)
        .thenNothing();
  });

  test('a failed attempt is repeated with doubling delays of at most an hour, and given up after the last', () => {
    const state = decider.evolve(undefined, ordered);
    const minutes = Array.from({ length: DELIVERY_ATTEMPTS_MAX - 1 }, (_, tries) => {
      const { timers, work } = decider.decide(state, again(tries + 1), { now: AT });
      expect(work).toEqual([{ kind: 'send_callback', order, tries: tries + 2 }]);
      const [timer] = timers;
      return timer !== undefined && 'set' in timer ? (timer.dueAt - AT) / 60_000 : 0;
    });
    expect(minutes.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(Math.max(...minutes)).toBe(60);
    const tries = DELIVERY_ATTEMPTS_MAX;
    given(ordered)
      .when(again(tries), AT)
      .thenEmits({ type: 'callback_failed', id: ID, tries, problem: 'gave up after 40 attempts', at: AT })
      .thenTimes({ clear: 'send' });
    const problem = 'gave up after 40 attempts: the receiver answered 503';
    given(ordered, missed(39))
      .when(again(tries), AT)
      .thenEmits({ type: 'callback_failed', id: ID, tries, problem, at: AT })
      .thenTimes({ clear: 'send' });
  });

  test('a failed attempt is recorded with its problem, and an earlier one that ends later is not', () => {
    const problem = 'the receiver answered 503';
    given(ordered).when({ kind: 'callback_missed', tries: 2, problem }, AT).thenEmits(missed(2));
    given(ordered, missed(2))
      .when({ kind: 'callback_missed', tries: 1, problem: 'no answer in time' }, AT)
      .thenNothing();
  });

  test('a receiver that wants no more webhooks ends the callback', () => {
    const problem = 'the receiver answered 410';
    given(ordered)
      .when({ kind: 'callback_gone', tries: 1, problem }, AT)
      .thenEmits({ type: 'callback_failed', id: ID, tries: 1, problem, at: AT })
      .thenTimes({ clear: 'send' });
  });
});
