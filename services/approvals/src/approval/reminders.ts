import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { policyOf } from '@holdpoint/contracts/workflow/approval-policy';
import type { Json } from '@holdpoint/contracts/values/json';
import { type Decision, decision, type TimerChange } from '@holdpoint/runtime/decider';
import type { ApprovalWork, Pending } from './state.ts';
import { type Notifications, notifySurfaces } from './notices.ts';
import { timerData } from './timer-data.ts';

// Reminders and escalations of a request that is not decided yet.

/** One timer serves reminders and the deadline, so that a reminder costs no row. */
export const EXPIRY = 'expiry';
const HAND_ON = 'hand_on';

/** Steps of each kind, in the order in which they are due. */
const remindersOf = (request: RequestApproval): readonly number[] =>
  policyOf(request)
    .remindMs.filter((ms) => ms < request.timeoutMs)
    .toSorted((a, b) => a - b);
const stepsOf = (request: RequestApproval) =>
  policyOf(request).handOn.toSorted((a, b) => a.afterMs - b.afterMs);

/** The next reminder after `done` ones, else the deadline. */
const deadlineTimer = (request: RequestApproval, requestedAt: number, done: number): TimerChange => ({
  set: EXPIRY,
  dueAt: requestedAt + (remindersOf(request)[done] ?? request.timeoutMs),
});

const handOnAt = (request: RequestApproval, requestedAt: number, number: number): readonly TimerChange[] => {
  const next = stepsOf(request)[number - 1];
  return next === undefined ? [] : [{ set: HAND_ON, dueAt: requestedAt + next.afterMs, data: { number } }];
};

export const deadlineTimers = (request: RequestApproval, now: number): readonly TimerChange[] => [
  deadlineTimer(request, now, 0),
  ...handOnAt(request, now, 1),
];

export const isEscalationTimer = (name: string): boolean => name === HAND_ON;

export const clearDeadlineTimers = (request: RequestApproval): readonly TimerChange[] => [
  { clear: EXPIRY },
  ...(stepsOf(request).length === 0 ? [] : [{ clear: HAND_ON }]),
];

/** Whether step `number` follows the `done` steps and is due. Duplicated and early timers fail this test. */
const isNext = (number: number, done: number, dueAfter: number | undefined, waitedMs: number): boolean =>
  number === done + 1 && dueAfter !== undefined && waitedMs >= dueAfter;

/** The deadline timer fired before the deadline. One reminder stands for all that are due, so that a repeat adds none. */
export const remind = (
  { request, requestedAt, reminders }: Pending,
  notifications: Notifications,
  now: number,
): Decision<ApprovalEvent, ApprovalWork> => {
  const number = remindersOf(request).filter((ms) => ms <= now - requestedAt).length;
  if (number <= reminders) return decision({ timers: [deadlineTimer(request, requestedAt, reminders)] });
  const { id } = request;
  const notices = notifySurfaces(id, notifications, 'reminded', number, now);
  return decision<ApprovalEvent, ApprovalWork>({
    events: [{ type: 'reminded', id, reminder: number, at: now }],
    timers: [deadlineTimer(request, requestedAt, number), ...notices.timers],
    work: notices.work,
  });
};

export const escalate = (
  { request, requestedAt, steps, audience: before }: Pending,
  data: Json,
  notifications: Notifications,
  now: number,
): Decision<ApprovalEvent, ApprovalWork> => {
  const { number } = timerData(data) as { readonly number: number };
  const step = stepsOf(request)[number - 1];
  if (step === undefined || !isNext(number, steps, step.afterMs, now - requestedAt)) {
    const next = handOnAt(request, requestedAt, steps + 1);
    return decision({ timers: next.length > 0 ? next : [{ clear: HAND_ON }] });
  }
  const { id } = request;
  const notices = notifySurfaces(id, notifications, 'escalated', number, now);
  const audience = [...new Set([...before, ...step.audience])];
  return decision<ApprovalEvent, ApprovalWork>({
    events: [{ type: 'escalated', id, step: number, audience, at: now }],
    timers: [...handOnAt(request, requestedAt, number + 1), ...notices.timers],
    work: notices.work,
  });
};
