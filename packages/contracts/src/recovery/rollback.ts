import { z } from 'zod';
import { NodeId, TaskId } from '../values/ids.ts';
import { CommitId, WorkLocation } from './commands.ts';
import { UndoInputs } from '../effect/undo.ts';
import { Lock } from '../workflow/workflow.ts';

/**
 * The inputs of the workflow `rollback`: a worktree goes back to a commit, after what was done since has been taken back, the
 * latest first.
 */
export const RollbackInputs = z.strictObject({
  /** Whose attempt it is about. */
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  commit: CommitId,
  place: WorkLocation,
  /** What nobody else may do meanwhile. */
  locks: z.array(Lock).max(100).optional(),
  undo: z.array(UndoInputs).max(100).optional(),
});
export type RollbackInputs = z.infer<typeof RollbackInputs>;
