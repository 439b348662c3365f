import type { ApprovalEvent, ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { policyOf } from '@holdpoint/contracts/workflow/approval-policy';
import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { type Answer, type Decision, decision } from '@holdpoint/runtime/decider';
import type { ApprovalWork, Resolution, Finished, Pending, Withdrawn } from './state.ts';
import { clearDeadlineTimers } from './reminders.ts';
import { type Notifications, notifySurfaces, notifySurfacesByTimer } from './notices.ts';
import { awaitOutcome } from './outcome.ts';
import { shortResponse } from './response.ts';

export type ApprovalDecision = Decision<ApprovalEvent, ApprovalWork>;

/** `by` of a request that expired. */
const EXPIRY_ACTOR = 'expiry';

const aboutOf = (state: Finished): Withdrawn['about'] =>
  state.status === 'withdrawn' ? state.about : state.request;

const resolution = (state: Finished): ApprovalResolved => {
  const { id, task, node, revision } = aboutOf(state);
  return { type: 'resolved', id, task, node, revision, ...state.decided };
};

/** Closes a pending request. `now` in epoch milliseconds. */
export const close = (
  state: Pending,
  decided: Resolution,
  notifications: Notifications,
  now: number,
  more: { readonly answer?: Answer; readonly also?: Pick<ApprovalDecision, 'timers' | 'work'> } = {},
): ApprovalDecision => {
  const { request } = state;
  // A refused decision starts no work itself: timers that are due at once send the notices.
  const isRefusal = more.answer !== undefined && 'error' in more.answer;
  const notices = (isRefusal ? notifySurfacesByTimer : notifySurfaces)(
    request.id,
    notifications,
    'resolved',
    1,
    now,
  );
  return decision<ApprovalEvent, ApprovalWork>({
    events: [resolution({ ...state, status: 'closed', decided: { ...decided, digest: request.digest } })],
    timers: [
      ...clearDeadlineTimers(request),
      ...(decided.grant === undefined ? [] : [awaitOutcome(now)]),
      ...notices.timers,
      ...(more.also?.timers ?? []),
    ],
    work: [...notices.work, ...(more.also?.work ?? [])],
    ...(more.answer && { answer: more.answer }),
  });
};

/** Error for a decision that comes too late; its details hold the decision that counts. */
export const alreadyDecided = (state: Finished): ErrorBody => {
  const { outcome: status, by, at, answer, response } = state.decided;
  const what = response === undefined ? answer : shortResponse(response);
  const result = what === undefined ? status : `${status} with ${what}`;
  const { id } = aboutOf(state);
  const text =
    status === 'expired'
      ? `approval ${id} has expired: ${state.decided.comment ?? 'no decision before the deadline'}`
      : `approval ${id} is ${result}, by ${by}`;
  return errorBody('APPROVALS_ALREADY_DECIDED', text, { status, by, at });
};

/** Sends the resolution again, under a new message id so that the bus does not drop it as a duplicate. */
export const repeatAnswer = (state: Finished, now: number): ApprovalDecision => {
  const { id } = aboutOf(state);
  return decision<ApprovalEvent, ApprovalWork>({
    send: [
      {
        subject: subjects.event('approval', 'resolved', id),
        id: `approval.${id}.again.${String(now)}`,
        type: eventType('approval', 'resolved'),
        data: resolution(state),
      },
    ],
  });
};

const ON_EXPIRY = { expire: 'expired', reject: 'rejected', request_changes: 'changes_requested' } as const;

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** The largest unit that divides the time, such as `7 days`. */
const durationText = (ms: number): string => {
  const [unit, length] = UNITS.find(([, each]) => ms >= each && ms % each === 0) ?? UNITS[3];
  const count = Math.floor(ms / length);
  return `${String(count)} ${unit}${count === 1 ? '' : 's'}`;
};

/** Outcome of an undecided request by its policy. The requester decides whether to ask again. */
export const expired = ({ request, expiresAt }: Pending): Resolution => ({
  outcome: ON_EXPIRY[policyOf(request).onExpiry],
  by: EXPIRY_ACTOR,
  surface: 'clock',
  comment: `no decision within ${durationText(request.timeoutMs)}`,
  at: expiresAt,
});
