import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Json } from '@holdpoint/contracts/values/json';
import type { CallBack, CallbackEvent, CallbackTaken } from '@holdpoint/contracts/webhook/callback';
import {
  type Decider,
  type Decision,
  decision,
  type Outgoing,
  type TimerFired,
  unknownEvent,
} from '@holdpoint/runtime/decider';
import {
  DELIVERY_ATTEMPTS_MAX,
  NO_NOTIFICATIONS,
  type Notifications,
  retryDelayMs,
} from '../approval/notices.ts';

export type CallbackState = {
  readonly order: CallBack;
  readonly status: 'open' | 'delivered' | 'failed';
  /** Attempts that have ended. */
  readonly tries: number;
  /** The latest change. Epoch milliseconds. */
  readonly at: number;
  /** Why the latest attempt failed. */
  readonly problem?: string;
};

export type CallbackMessage =
  | { readonly kind: 'call_back'; readonly payload: CallBack }
  /** The receiver has answered with success. */
  | { readonly kind: 'called_back'; readonly tries: number }
  /** The attempt failed. */
  | { readonly kind: 'callback_missed'; readonly tries: number; readonly problem: string }
  /** The receiver wants no more webhooks at this URL. */
  | { readonly kind: 'callback_gone'; readonly tries: number; readonly problem: string }
  | TimerFired;

/** Sends the webhook once. A timer repeats it until the receiver has it. */
export type CallbackWork = {
  readonly kind: 'send_callback';
  readonly order: CallBack;
  /** Attempts so far, this one included. */
  readonly tries: number;
};

type CallbackDecision = Decision<CallbackEvent, CallbackWork>;
export type CallbackTiming = Pick<Notifications, 'firstRetryMs' | 'longestRetryMs'>;

const SEND = 'send';

const attempt = (
  order: CallBack,
  tries: number,
  now: number,
  timing: CallbackTiming,
): Pick<CallbackDecision, 'timers' | 'work'> => ({
  timers: [{ set: SEND, dueAt: now + retryDelayMs(tries, timing), data: { tries } }],
  work: [{ kind: 'send_callback', order, tries }],
});

/** A repeated confirmation needs a new id, or the bus drops it as a duplicate. */
const confirmed = ({ id, task }: CallBack, now: number): Outgoing => ({
  subject: subjects.taskCommand('callback_taken'),
  id: `task.callback_taken.${id}.${String(now)}`,
  type: eventType('task', 'callback_taken'),
  data: { id: task, callback: id } satisfies CallbackTaken,
});

const triesIn = (data: Json): number =>
  typeof data === 'object' && data !== null && 'tries' in data ? Number(data['tries']) : 1;

const failed = ({ id }: CallBack, tries: number, problem: string, now: number): CallbackDecision =>
  decision({
    events: [{ type: 'callback_failed', id, tries, problem, at: now }],
    timers: [{ clear: SEND }],
  });

const decideOpen = (
  { order, tries: ended, problem: latest }: CallbackState,
  message: Exclude<CallbackMessage, { readonly kind: 'call_back' }>,
  now: number,
  timing: CallbackTiming,
): CallbackDecision => {
  switch (message.kind) {
    case 'called_back':
      return decision({
        events: [{ type: 'callback_delivered', id: order.id, tries: message.tries, at: now }],
        timers: [{ clear: SEND }],
      });
    case 'callback_missed': {
      const { tries, problem } = message;
      // A slow attempt can end after the next one.
      if (tries <= ended) return decision({});
      return decision({ events: [{ type: 'callback_missed', id: order.id, tries, problem, at: now }] });
    }
    case 'callback_gone':
      return failed(order, message.tries, message.problem, now);
    case 'timer': {
      const tries = triesIn(message.data);
      if (tries >= DELIVERY_ATTEMPTS_MAX) {
        const why = latest === undefined ? '' : `: ${latest}`;
        return failed(order, tries, `gave up after ${String(tries)} attempts${why}`.slice(0, 1_000), now);
      }
      return decision(attempt(order, tries + 1, now, timing));
    }
  }
};

/** One callback of a held effect: stored when its effect has ended, and sent until the receiver has it. */
export const createCallbackDecider = (
  options: Partial<CallbackTiming> = {},
): Decider<CallbackState | undefined, CallbackMessage, CallbackEvent, CallbackWork> => {
  const timing = { ...NO_NOTIFICATIONS, ...options };
  return {
    initial: undefined,
    evolve: (state, event) => {
      if (event.type === 'callback_ordered') {
        const { type: _, ...order } = event;
        return { order, status: 'open', tries: 0, at: order.at };
      }
      if (state === undefined) throw new Error(`callback ${event.id} was never ordered`);
      const { order } = state;
      const { tries, at } = event;
      switch (event.type) {
        case 'callback_delivered':
          return { order, status: 'delivered', tries, at };
        case 'callback_missed':
          return { order, status: 'open', tries, at, problem: event.problem };
        case 'callback_failed':
          return { order, status: 'failed', tries, at, problem: event.problem };
        default:
          return unknownEvent(event);
      }
    },
    decide: (state, message, { now }) => {
      if (message.kind === 'call_back') {
        const { payload } = message;
        if (state !== undefined) return decision({ send: [confirmed(payload, now)] });
        return decision({
          events: [{ type: 'callback_ordered', ...payload }],
          send: [confirmed(payload, now)],
          ...attempt(payload, 1, now, timing),
        });
      }
      return state?.status === 'open' ? decideOpen(state, message, now, timing) : decision({});
    },
  };
};
