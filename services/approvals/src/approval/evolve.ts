import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { unknownEvent } from '@holdpoint/runtime/decider';
import type { ApprovalState, Closed, Pending } from './state.ts';
import { noticeName } from './notices.ts';
import { withVote } from './tally.ts';

type OpenOrClosed = Pending | Closed;

const changed = (
  state: ApprovalState,
  change: (state: OpenOrClosed) => Partial<Omit<OpenOrClosed, 'status'>>,
): OpenOrClosed => {
  if (state.status !== 'pending' && state.status !== 'closed')
    throw new Error(`an approval that is ${state.status} has no request`);
  return { ...state, ...change(state) };
};

export const evolveApproval = (state: ApprovalState, event: ApprovalEvent): ApprovalState => {
  switch (event.type) {
    case 'requested': {
      const { type: _, expiresAt, ...request } = event;
      return {
        status: 'pending',
        request,
        requestedAt: expiresAt - request.timeoutMs,
        expiresAt,
        audience: request.audience,
        votes: [],
        reminders: 0,
        steps: 0,
        notified: [],
        refused: [],
      };
    }
    case 'resolved': {
      const { type: _, id, task, node, revision, ...decided } = event;
      return state.status === 'pending' || state.status === 'closed'
        ? { ...state, status: 'closed', decided, votes: decided.votes ?? state.votes }
        : { status: 'withdrawn', about: { id, task, node, revision }, decided };
    }
    case 'voted': {
      const { type: _, id: __, digest: ___, ...vote } = event;
      return changed(state, ({ votes }) => ({ votes: withVote(votes, vote) }));
    }
    case 'decision_refused':
      return changed(state, ({ refused }) => ({ refused: [...refused, `${event.by}/${event.code}`] }));
    case 'reminded':
      return changed(state, () => ({ reminders: event.reminder }));
    case 'escalated':
      return changed(state, () => ({ steps: event.step, audience: event.audience }));
    case 'delivery_failed':
      return changed(state, ({ notified }) => ({ notified: [...notified, noticeName(event)] }));
    case 'delivered':
      return changed(state, ({ notified, references }) => ({
        notified: [...notified, noticeName(event)],
        ...(event.reference !== undefined && {
          references: { ...references, [noticeName(event)]: event.reference },
        }),
      }));
    case 'effect_outcome_recorded':
      return changed(state, () => ({ outcome: { outcome: event.outcome, epoch: event.epoch } }));
    default:
      return unknownEvent(event);
  }
};
