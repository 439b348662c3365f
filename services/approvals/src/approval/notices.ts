import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { Notice, Surface } from '@holdpoint/contracts/approval/status';
import type { ApprovalId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import { type Decision, decision, type TimerChange } from '@holdpoint/runtime/decider';
import type { ApprovalMessage, ApprovalWork, Closed, Pending } from './state.ts';
import { timerData } from './timer-data.ts';

/**
 * Delivery is retried with growing delay, so that a surface that is down for a day still receives its
 * notices.
 */
export type Notifications = {
  readonly surfaces: readonly Surface[];
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
};
export const NO_NOTIFICATIONS: Notifications = {
  surfaces: [],
  firstRetryMs: 30_000,
  longestRetryMs: 3_600_000,
};
export const DELIVERY_ATTEMPTS_MAX = 40;

type NoticeKey = { readonly surface: Surface; readonly notice: Notice; readonly number: number };

/** Key of a notice in the state of its approval. */
export const noticeName = ({ surface, notice, number }: NoticeKey): string =>
  `${surface}/${notice}/${String(number)}`;
const PREFIX = 'notice/';

/** The delay after attempt number `tries`, counted from one. */
export const retryDelayMs = (
  tries: number,
  { firstRetryMs, longestRetryMs }: Pick<Notifications, 'firstRetryMs' | 'longestRetryMs'>,
): number => Math.min(firstRetryMs * 2 ** (tries - 1), longestRetryMs);

const attempt = (
  approval: ApprovalId,
  which: NoticeKey,
  tries: number,
  now: number,
  notifications: Notifications,
): { readonly timer: TimerChange; readonly work: ApprovalWork } => ({
  timer: {
    set: PREFIX + noticeName(which),
    dueAt: now + retryDelayMs(tries, notifications),
    data: { ...which, tries },
  },
  work: { kind: 'deliver', approval, ...which },
});

/** Sends a notice to every surface, and repeats it until the surface confirms it. */
export const notifySurfaces = (
  approval: ApprovalId,
  notifications: Notifications,
  notice: Notice,
  number: number,
  now: number,
): Pick<Decision<ApprovalEvent, ApprovalWork>, 'timers' | 'work'> => {
  const attempts = notifications.surfaces.map((surface) =>
    attempt(approval, { surface, notice, number }, 1, now, notifications),
  );
  return { timers: attempts.map(({ timer }) => timer), work: attempts.map(({ work }) => work) };
};

/** The same, started by timers that are due at once. */
export const notifySurfacesByTimer: typeof notifySurfaces = (_, { surfaces }, notice, number, now) => ({
  timers: surfaces.map((surface) => {
    const which = { surface, notice, number };
    return { set: PREFIX + noticeName(which), dueAt: now, data: { ...which, tries: 0 } };
  }),
  work: [],
});

export const isNoticeTimer = (name: string): boolean => name.startsWith(PREFIX);

type OpenOrClosed = Pending | Closed;

/** A notice that was delivered, or that a closed request needs no more: only the one about its resolution remains. */
export const isPointless = (state: OpenOrClosed, which: NoticeKey): boolean =>
  state.notified.includes(noticeName(which)) || (state.status === 'closed' && which.notice !== 'resolved');

export const retryNotice = (
  state: OpenOrClosed,
  name: string,
  data: Json,
  now: number,
  notifications: Notifications,
): Decision<ApprovalEvent, ApprovalWork> => {
  const { tries, ...which } = timerData(data) as NoticeKey & { readonly tries: number };
  const { id } = state.request;
  if (isPointless(state, which)) return decision({ timers: [{ clear: name }] });
  if (tries >= DELIVERY_ATTEMPTS_MAX) {
    const problem = `gave up after ${String(tries)} attempts`;
    return decision({
      events: [{ type: 'delivery_failed', id, ...which, problem, at: now }],
      timers: [{ clear: name }],
    });
  }
  const { timer, work } = attempt(id, which, tries + 1, now, notifications);
  return decision({ timers: [timer], work: [work] });
};

export const delivered = (
  state: OpenOrClosed,
  message: Extract<ApprovalMessage, { kind: 'delivered' }>,
  now: number,
): Decision<ApprovalEvent, ApprovalWork> => {
  const { surface, notice, number, reference } = message;
  const name = noticeName({ surface, notice, number });
  if (state.notified.includes(name)) return decision({});
  const { id } = state.request;
  return decision({
    events: [
      {
        type: 'delivered',
        id,
        surface,
        notice,
        number,
        ...(reference !== undefined && { reference }),
        at: now,
      },
    ],
    timers: [{ clear: PREFIX + name }],
  });
};
