import type { ApprovalView } from '@holdpoint/contracts/approval';
import { HoldpointError } from '@holdpoint/contracts/errors';
import { TaskEvent } from '@holdpoint/contracts/task';
import type { Client } from './client.ts';

/** When the effect of a question was ordered last, in epoch milliseconds; undefined where its task is not known any more. */
export const begunAt = async (
  client: Client,
  { doubt, task, effectId }: ApprovalView,
): Promise<number | undefined> => {
  if (doubt === undefined) return undefined;
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
