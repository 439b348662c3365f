import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { policyOf } from '@holdpoint/contracts/workflow/approval-policy';
import type { Json } from '@holdpoint/contracts/values/json';
import { type Decision, decision, type TimerChange } from '@holdpoint/runtime/decider';
import type { ApprovalWork, Pending } from './state.ts';
import { type Notifications, notifySurfaces } from './notices.ts';
import { timerData } from './timer-data.ts';

// Reminders and escalations of a request that is not decided yet.

const REMIND = 'remind';
const HAND_ON = 'hand_on';

/** Steps of each kind, in the order in which they are due. */
const remindersOf = (request: RequestApproval): readonly number[] =>
  policyOf(request).remindMs.toSorted((a, b) => a - b);
const stepsOf = (request: RequestApproval) =>
  policyOf(request).handOn.toSorted((a, b) => a.afterMs - b.afterMs);

const remindAt = (request: RequestApproval, requestedAt: number, number: number): readonly TimerChange[] => {
  const after = remindersOf(request)[number - 1];
  return after === undefined ? [] : [{ set: REMIND, dueAt: requestedAt + after, data: { number } }];
};

const handOnAt = (request: RequestApproval, requestedAt: number, number: number): readonly TimerChange[] => {
  const next = stepsOf(request)[number - 1];
  return next === undefined ? [] : [{ set: HAND_ON, dueAt: requestedAt + next.afterMs, data: { number } }];
};

export const reminderTimers = (request: RequestApproval, now: number): readonly TimerChange[] => [
  ...remindAt(request, now, 1),
  ...handOnAt(request, now, 1),
];

export const isReminderTimer = (name: string): boolean => name === REMIND || name === HAND_ON;

export const clearReminderTimers: readonly TimerChange[] = [{ clear: REMIND }, { clear: HAND_ON }];

/** Whether step `number` follows the `done` steps and is due. Duplicated and early timers fail this test. */
const isNext = (number: number, done: number, dueAfter: number | undefined, waitedMs: number): boolean =>
  number === done + 1 && dueAfter !== undefined && waitedMs >= dueAfter;

const orClear = (next: readonly TimerChange[], name: string): Decision<ApprovalEvent, ApprovalWork> =>
  decision({ timers: next.length > 0 ? next : [{ clear: name }] });

const remind = (
  { request, requestedAt, reminders }: Pending,
  number: number,
  notifications: Notifications,
  now: number,
): Decision<ApprovalEvent, ApprovalWork> => {
  const due = remindersOf(request)[number - 1];
  if (!isNext(number, reminders, due, now - requestedAt))
    return orClear(remindAt(request, requestedAt, reminders + 1), REMIND);
  const { id } = request;
  const notices = notifySurfaces(id, notifications, 'reminded', number, now);
  return decision<ApprovalEvent, ApprovalWork>({
    events: [{ type: 'reminded', id, reminder: number, at: now }],
    timers: [...remindAt(request, requestedAt, number + 1), ...notices.timers],
    work: notices.work,
  });
};

const handOn = (
  { request, requestedAt, steps, audience: before }: Pending,
  number: number,
  notifications: Notifications,
  now: number,
): Decision<ApprovalEvent, ApprovalWork> => {
  const step = stepsOf(request)[number - 1];
  if (step === undefined || !isNext(number, steps, step.afterMs, now - requestedAt))
    return orClear(handOnAt(request, requestedAt, steps + 1), HAND_ON);
  const { id } = request;
  const notices = notifySurfaces(id, notifications, 'escalated', number, now);
  const audience = [...new Set([...before, ...step.audience])];
  return decision<ApprovalEvent, ApprovalWork>({
    events: [{ type: 'escalated', id, step: number, audience, at: now }],
    timers: [...handOnAt(request, requestedAt, number + 1), ...notices.timers],
    work: notices.work,
  });
};

export const reminderTimerFired = (
  state: Pending,
  name: string,
  data: Json,
  notifications: Notifications,
  now: number,
): Decision<ApprovalEvent, ApprovalWork> => {
  const { number } = timerData(data) as { readonly number: number };
  return (name === REMIND ? remind : handOn)(state, number, notifications, now);
};
