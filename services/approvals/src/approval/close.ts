import type { ApprovalEvent, ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { Surface } from '@holdpoint/contracts/approval/status';
import { policyOf } from '@holdpoint/contracts/workflow/approval-policy';
import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { type Answer, type Decision, decision } from '@holdpoint/runtime/decider';
import type { ApprovalWork, Resolution, Finished, Pending, Withdrawn } from './state.ts';
import { clearReminderTimers } from './reminders.ts';
import { notifySurfaces, notifySurfacesByTimer } from './notices.ts';
import { awaitOutcome } from './outcome.ts';
import { shortResponse } from './response.ts';

export type ApprovalDecision = Decision<ApprovalEvent, ApprovalWork>;

export const EXPIRY = 'expiry';
/** Whoever is named as having decided when nobody has. */
const EXPIRY_ACTOR = 'expiry';

const aboutOf = (state: Finished): Withdrawn['about'] =>
  state.status === 'withdrawn' ? state.about : state.request;

const resolution = (state: Finished): ApprovalResolved => {
  const { id, task, node, revision } = aboutOf(state);
  return { type: 'resolved', id, task, node, revision, ...state.decided };
};

/** The one end of a request, come upon at `now`. */
export const close = (
  state: Pending,
  decided: Resolution,
  surfaces: readonly Surface[],
  now: number,
  more: { readonly answer?: Answer; readonly also?: Pick<ApprovalDecision, 'timers' | 'work'> } = {},
): ApprovalDecision => {
  const { request } = state;
  const { remindMs, handOn } = policyOf(request);
  // Whoever is refused has set nothing going: it is the timers then that have it told.
  const isRefusal = more.answer !== undefined && 'error' in more.answer;
  const told = (isRefusal ? notifySurfacesByTimer : notifySurfaces)(request.id, surfaces, 'resolved', 1, now);
  return decision<ApprovalEvent, ApprovalWork>({
    events: [resolution({ ...state, status: 'closed', decided: { ...decided, digest: request.digest } })],
    timers: [
      { clear: EXPIRY },
      ...(remindMs.length + handOn.length > 0 ? clearReminderTimers : []),
      ...(decided.grant === undefined ? [] : [awaitOutcome(now)]),
      ...told.timers,
      ...(more.also?.timers ?? []),
    ],
    work: [...told.work, ...(more.also?.work ?? [])],
    ...(more.answer && { answer: more.answer }),
  });
};

/** What stands, for whoever comes too late. */
export const alreadyDecided = (state: Finished): ErrorBody => {
  const { outcome: status, by, at, answer, response } = state.decided;
  const what = response === undefined ? answer : shortResponse(response);
  const said = what === undefined ? status : `${status} with ${what}`;
  const text = `approval ${aboutOf(state).id} is ${said}, by ${by}`;
  return errorBody('APPROVALS_ALREADY_DECIDED', text, { status, by, at });
};

/** Whoever asks again has not heard the answer: it is sent again, under a message id that the bus has not seen. */
export const repeatAnswer = (state: Finished, now: number): ApprovalDecision => {
  const { id } = aboutOf(state);
  return decision<ApprovalEvent, ApprovalWork>({
    send: [
      {
        subject: subjects.fact('approval', 'resolved', id),
        id: `approval.${id}.again.${String(now)}`,
        type: eventType('approval', 'resolved'),
        data: resolution(state),
      },
    ],
  });
};

const ON_EXPIRY = { expire: 'expired', reject: 'rejected', request_changes: 'changes_requested' } as const;

/** What the gate says of a request that nobody has decided. Whether a question is put anew is for whoever asked it. */
export const expired = ({ request, expiresAt }: Pending): Resolution => ({
  outcome: ON_EXPIRY[policyOf(request).onExpiry],
  by: EXPIRY_ACTOR,
  surface: 'clock',
  at: expiresAt,
});
