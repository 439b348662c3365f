import type { TaskId } from '@holdpoint/contracts/values/ids';
import { isUnverified } from '@holdpoint/contracts/values/person';
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

/** A name counts as verified only if its owner has shown a token for exactly this task. */
export const checkRequester = (
  { checker, askers }: World,
  { type, id, requestedBy }: { readonly type: string; readonly id: string; readonly requestedBy: string },
): void => {
  const asker = askers.get(id as TaskId);
  if (asker === undefined) return;
  checker.expect(
    'a verified requester is the person who asked',
    isUnverified(requestedBy) || requestedBy === asker,
    id,
    () => `${type} by ${requestedBy}, and ${asker} asked`,
  );
};
