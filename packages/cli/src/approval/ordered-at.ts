import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { questionOf } from '@holdpoint/contracts/approval/question';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Client } from '../bus/client.ts';

/** Time of the last order of an in-doubt effect, in epoch milliseconds; undefined if its task no longer exists. */
export const orderedAt = async (client: Client, approval: ApprovalView): Promise<number | undefined> => {
  if (questionOf(approval) !== 'in_doubt') return undefined;
  const { task, effectId } = approval;
  try {
    const { events } = await client.call('orchestrator', 'history', { id: task });
    return events.findLast(({ data }) => {
      const event = TaskEvent.safeParse(data).data;
      return event?.type === 'effect_ordered' && event.effectId === effectId;
    })?.at;
  } catch (error) {
    if (error instanceof HoldpointError && error.code === 'ORCHESTRATOR_UNKNOWN_TASK') return undefined;
    throw error;
  }
};
