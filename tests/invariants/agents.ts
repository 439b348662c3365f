import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { type Committed, type Expect, memoryOf } from './invariant.ts';

/** An agent never decides a request of its owner, whichever agent of that owner made it. */
export const watchAgentDecisions = (expect: Expect) => {
  const memory = memoryOf<{ owner: string | undefined }>(() => ({ owner: undefined }));
  return ({ aggregate, event }: Pick<Committed<ApprovalEvent>, 'aggregate' | 'event'>): void => {
    const known = memory(aggregate);
    if (event.type === 'requested') {
      known.owner = event.requestedBy;
      return;
    }
    if (event.type !== 'voted' && event.type !== 'resolved') return;
    const decisions = [event, ...(event.type === 'resolved' ? (event.votes ?? []) : [])];
    expect(
      'no agent decides a request of its owner',
      decisions.every(({ by, agent }) => agent === undefined || by !== known.owner),
      aggregate,
      () => JSON.stringify({ event, owner: known.owner }),
    );
  };
};
