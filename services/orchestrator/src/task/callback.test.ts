import { HELD_NODE } from '@holdpoint/contracts/effect/hold';
import {
  approvalIdOf,
  callbackIdOf,
  type CallbackId,
  effectIdOf,
  type NodeId,
} from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { CallBack } from '@holdpoint/contracts/webhook/callback';
import type { Decision } from '@holdpoint/runtime/decider';
import { describe, expect, test } from 'vitest';
import { applied, byHand, NOW, recover, reported, resolved, submit, TASK } from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';
import type { TaskMessage } from './model/messages.ts';
import { absent, type Task, type TaskState } from './model/state.ts';

const NODE = HELD_NODE as NodeId;
const callback = { url: 'https://ci.example/done' };
const inputs: JsonObject = {
  capability: 'refund',
  args: { charge: 'ch_1' },
  key: 'refund:ch_1',
  kind: 'write_external',
  class: 'opaque',
  target: 'payments',
  callback,
};
const about = { node: NODE, id: effectIdOf(TASK, NODE, 'refund:ch_1') };

/** A held effect that the messages happen to, one after another. */
const played = (messages: readonly TaskMessage[], given: JsonObject = inputs) => {
  let state: TaskState = absent;
  let last: Decision<unknown> | undefined;
  const sent: CallBack[] = [];
  const first = submit({ workflow: 'effect', goal: 'refund', requestedBy: 'linus', inputs: given });
  for (const message of [first, ...messages]) {
    const made = taskDecider.decide(state, message, { now: NOW });
    state = made.events.reduce<TaskState>((before, event) => taskDecider.evolve(before, event), state);
    for (const { subject, data } of made.send)
      if (subject === 'hp.cmd.approval.call_back') sent.push(CallBack.parse(data));
    last = made;
  }
  return { state, sent, last };
};

const approval = { node: NODE, id: approvalIdOf(TASK, NODE, 1) };
const approved = resolved('approved', approval);
const timer = (name: string): TaskMessage => ({ kind: 'timer', name, data: { attempt: 1 } });
const lost: readonly TaskMessage[] = [
  approved,
  reported({ type: 'in_doubt', epoch: 1, reason: 'lost', next: 'person', cause: 'worker_lost' }, about),
  recover('escalate', { node: NODE }),
];

describe('the callback of a held effect', () => {
  test.each([
    ['applied', [approved, applied(about)], { outputs: { line: 1 } }],
    ['rejected', [resolved('rejected', { ...approval, comment: 'no' })], { by: 'grace', comment: 'no' }],
    ['rejected', [resolved('expired', approval)], {}],
    ['cancelled', [byHand('cancel')], {}],
  ] as const)('an effect that ends %s is called back once, with its end', (state, messages, shown) => {
    const { sent } = played(messages);
    expect(sent).toMatchObject([
      { task: TASK, callback, held: { id: TASK, effect: about.id, key: 'refund:ch_1', state, ...shown } },
    ]);
  });

  test('an effect whose outcome a person has to tell is called back, and again at its end', () => {
    const { sent } = played(lost);
    expect(sent).toMatchObject([{ held: { state: 'in_doubt' } }]);
    const ended = played([...lost, byHand('cancel')]).sent;
    expect(ended.map(({ held }) => held.state)).toEqual(['in_doubt', 'cancelled']);
    expect(new Set(ended.map(({ id }) => id)).size).toBe(2);
  });

  test('the order is repeated with the same id until approvals has taken it', () => {
    const end = played([byHand('cancel')]);
    const [order] = end.sent;
    const id = order?.id ?? ('' as CallbackId);
    expect(id).toBe(callbackIdOf(TASK, end.state.phase === 'absent' ? 0 : end.state.version));
    const name = `callback:ended:${id}`;
    expect(end.last?.timers).toContainEqual(expect.objectContaining({ set: name }));
    const again = played([byHand('cancel'), timer(name)]);
    expect(again.sent).toEqual([order, order]);
    expect(again.last?.send[0]?.id).not.toBe(end.last?.send.at(-1)?.id);
    const taken = played([
      byHand('cancel'),
      { kind: 'callback_taken', task: TASK, payload: { id: TASK, callback: id } },
    ]);
    expect(taken.last?.events).toEqual([]);
    expect(taken.last?.timers).toContainEqual({ clear: name });
  });

  test('the callback of a doubt is not repeated after its answer', () => {
    const id = played(lost).sent[0]?.id ?? '';
    const { sent } = played([...lost, byHand('cancel'), timer(`callback:in_doubt:${id}`)]);
    expect(sent).toHaveLength(2);
  });

  test('inputs and a callback with fields of a newer release are still called back', () => {
    const { state } = played([approved]);
    const newer = { ...inputs, callback: { ...callback, headers: {} }, retries: 3 };
    const accepted = { ...(state as Task), inputs: newer };
    const [order] = taskDecider
      .decide(accepted, applied(about), { now: NOW })
      .send.filter(({ subject }) => subject === 'hp.cmd.approval.call_back');
    expect(CallBack.parse(order?.data)).toMatchObject({ task: TASK, callback });
    expect(CallBack.parse({ ...order?.data, callback: newer.callback })).toMatchObject({ callback });
  });

  test('an effect without a callback sends nothing and sets no timer for it', () => {
    const { callback: _, ...without } = inputs;
    const { sent, last } = played([approved, applied(about)], without);
    expect(sent).toEqual([]);
    expect(JSON.stringify(last)).not.toContain('callback');
  });
});
