import { z } from 'zod';
import { NodeId, TaskId } from '../values/ids.ts';

/**
 * The attempt whose verdict ordered a rollback, and the worktree that its task made. Only the orchestrator sets
 * it, for a task that it submits itself.
 */
export const RollbackOrigin = z.object({
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  worktree: z.string().min(1).max(1_024),
});
export type RollbackOrigin = z.infer<typeof RollbackOrigin>;
