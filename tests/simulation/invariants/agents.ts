import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { ApprovalState } from '@holdpoint/approvals/approval/state';
import { type Change, programIn, taskIn } from '../event-states.ts';
import type { World } from '../world.ts';

/** An agent decides on nothing that its owner has asked for, by whichever agent of his, and whose agent asks is in the record. */
export const checkAgents = (
  { judge, books }: World,
  { aggregate, before, event }: Change<ApprovalState, ApprovalEvent>,
): void => {
  if (event.type === 'requested') {
    const task = taskIn(books, event.task) ?? programIn(books, event.task);
    judge.expect(
      'a request of an agent names the agent',
      task === undefined || (task.agent === event.agent && task.requestedBy === event.requestedBy),
      aggregate,
      () => JSON.stringify({ event, by: task?.requestedBy, agent: task?.agent }),
    );
    return;
  }
};
