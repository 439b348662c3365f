import { type ApprovalView, riskOf } from '@holdpoint/contracts/approval/views';
import type { Listing } from '@holdpoint/runtime/engine/kinds';
import type { ListRow } from '@holdpoint/runtime/engine/ports';
import type { ListTable } from '@holdpoint/runtime/store/write-statement';
import type { ApprovalState } from '../approval/state.ts';
import { EVERYONE, rankOf, requestWords, written } from './inbox-filter.ts';
import { approvalView } from './requests.ts';

/** Requests that wait for a decision. Each list is a range of one index. */
export const INBOX: ListTable = {
  name: 'inbox',
  columns: {
    member: 'text',
    requested_at: 'bigint',
    expires_at: 'bigint',
    risk: 'smallint',
    kind: 'text',
    requester: 'text',
    task: 'text',
    words: 'words',
  },
};

/** One row per member of the audience, and one for lists of all requests, by which a search and a task find the request. */
export const inboxRows = (view: ApprovalView): readonly ListRow[] => {
  const { id, task, effect, audience, requestedBy } = view;
  const common = {
    id,
    requested_at: view.requestedAt,
    expires_at: view.expiresAt,
    risk: rankOf(view.risk ?? riskOf(effect)),
    kind: effect.kind,
    requester: written(requestedBy),
  };
  return [
    { ...common, member: EVERYONE, task, words: requestWords(view) },
    ...[...new Set(audience)].map((member) => ({ ...common, member: written(member) })),
  ];
};

/** A vote or a reminder changes no row. An escalation adds members. */
export const approvalListing: Listing<ApprovalState> = {
  reasonOf: (state) => (state.status === 'pending' ? state.audience : undefined),
  rowsOf: (_id, state) => (state.status === 'pending' ? inboxRows(approvalView(state)) : []),
};
