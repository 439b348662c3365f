import type { ApprovalEvent, ApprovalResolved, Surface } from '@holdpoint/contracts/approval/approval';
import { policyOf } from '@holdpoint/contracts/workflow/approval-policy';
import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { type Answer, type Decision, decision } from '@holdpoint/runtime/decider';
import type { ApprovalWork, Decided, Over, Pending, Withdrawn } from './state.ts';
import { courseOver } from './reminders.ts';
import { tell, tellSoon } from './notices.ts';
import { awaitOutcome } from './outcome.ts';
import { shortResponse } from './response.ts';

export type Made = Decision<ApprovalEvent, ApprovalWork>;

export const EXPIRY = 'expiry';
/** Whoever is named as having decided when nobody has. */
const NOBODY = 'expiry';

const aboutOf = (state: Over): Withdrawn['about'] =>
  state.status === 'withdrawn' ? state.about : state.request;

const resolution = (state: Over): ApprovalResolved => {
  const { id, task, node, revision } = aboutOf(state);
  return { type: 'resolved', id, task, node, revision, ...state.decided };
};

/** The one end of a request, come upon at `now`. */
export const close = (
  state: Pending,
  decided: Decided,
  surfaces: readonly Surface[],
  now: number,
  more: { readonly answer?: Answer; readonly also?: Pick<Made, 'timers' | 'work'> } = {},
): Made => {
  const { request } = state;
  const { remindMs, handOn } = policyOf(request);
  // Whoever is refused has set nothing going: it is the timers then that have it told.
  const isRefusal = more.answer !== undefined && 'error' in more.answer;
  const told = (isRefusal ? tellSoon : tell)(request.id, surfaces, 'resolved', 1, now);
  return decision<ApprovalEvent, ApprovalWork>({
    events: [resolution({ ...state, status: 'closed', decided: { ...decided, digest: request.digest } })],
    timers: [
      { clear: EXPIRY },
      ...(remindMs.length + handOn.length > 0 ? courseOver : []),
      ...(decided.grant === undefined ? [] : [awaitOutcome(now)]),
      ...told.timers,
      ...(more.also?.timers ?? []),
    ],
    work: [...told.work, ...(more.also?.work ?? [])],
    ...(more.answer && { answer: more.answer }),
  });
};

/** What stands, for whoever comes too late. */
export const standing = (state: Over): ErrorBody => {
  const { outcome: status, by, at, answer, response } = state.decided;
  const what = response === undefined ? answer : shortResponse(response);
  const said = what === undefined ? status : `${status} with ${what}`;
  const text = `approval ${aboutOf(state).id} is ${said}, by ${by}`;
  return errorBody('APPROVALS_ALREADY_DECIDED', text, { status, by, at });
};

/** Whoever asks again has not heard the answer: it is sent again, under a message id that the bus has not seen. */
export const repeatAnswer = (state: Over, now: number): Made => {
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
export const expired = ({ request, expiresAt }: Pending): Decided => ({
  outcome: ON_EXPIRY[policyOf(request).onExpiry],
  by: NOBODY,
  surface: 'clock',
  at: expiresAt,
});
