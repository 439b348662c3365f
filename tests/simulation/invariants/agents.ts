import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { ApprovalState } from '@holdpoint/approvals/approval/state';
import { type Change, programIn, taskIn } from '../event-states.ts';
import type { World } from '../world.ts';

/** A request of an agent names that agent. */
export const checkAgents = (
  { checker, books }: World,
  { aggregate, event }: Change<ApprovalState, ApprovalEvent>,
): void => {
  if (event.type === 'requested') {
    const task = taskIn(books, event.task) ?? programIn(books, event.task);
    checker.expect(
      'a request of an agent names the agent',
      task === undefined || (task.agent === event.agent && task.requestedBy === event.requestedBy),
      aggregate,
      () => JSON.stringify({ event, by: task?.requestedBy, agent: task?.agent }),
    );
    return;
  }
};
