import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { CarriedNode, TaskEvent } from '@holdpoint/contracts/task/events';
import { evolve } from './evolve/evolve.ts';
import type { ForkTask } from './model/messages.ts';
import { absent, nodeState, type Task, type TaskState } from './model/state.ts';

const CARRIED: ReadonlySet<string> = new Set(['succeeded', 'skipped', 'unreached']);

/** Nodes that have ended, which the fork does not repeat. */
const carriedOf = (task: Task): Record<string, CarriedNode> =>
  Object.fromEntries(
    task.definition.nodes.flatMap(({ id }): readonly [string, CarriedNode][] => {
      const { status, attempt, outputs, context, payloads } = nodeState(task, id);
      if (!CARRIED.has(status)) return [];
      const what = {
        ...(outputs && { outputs }),
        ...(context && { context }),
        ...(payloads && { payloads }),
      };
      return [[id, { status: status as CarriedNode['status'], attempt, ...what }]];
    }),
  );

/**
 * The message that starts a fork, from the origin's history up to `version`. Undefined when the history is
 * shorter.
 */
export const forkAt = (
  history: readonly TaskEvent[],
  version: number,
  { task, by }: { readonly task: TaskId; readonly by: string },
): ForkTask | undefined => {
  if (history.length < version) return undefined;
  const origin = history.slice(0, version).reduce<TaskState>(evolve, absent);
  return origin.phase === 'absent'
    ? undefined
    : { kind: 'fork', task, origin, carried: carriedOf(origin), by };
};
