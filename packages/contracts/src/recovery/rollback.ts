import { z } from 'zod';
import { NodeId, TaskId } from '../values/ids.ts';
import { CommitId, WorkLocation } from './commands.ts';
import { UndoInputs } from '../effect/undo.ts';
import { Lock } from '../workflow/workflow.ts';

/**
 * Inputs of the workflow `rollback`: it undoes later effects, latest first, and resets a worktree to a
 * commit.
 */
export const RollbackInputs = z.strictObject({
  /** The attempt that is rolled back. */
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  commit: CommitId,
  place: WorkLocation,
  /** Locks that the rollback needs. */
  locks: z.array(Lock).max(100).optional(),
  undo: z.array(UndoInputs).max(100).optional(),
});
export type RollbackInputs = z.infer<typeof RollbackInputs>;

/** Which effects stored inputs of a rollback undo. A newer release may have stored more fields. */
export const StoredRollback = z.object({
  undo: z.array(z.object({ effect: UndoInputs.shape.effect })).optional(),
});
