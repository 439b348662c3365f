import { z } from 'zod';
import { TaskId } from '../values/ids.ts';
import { TaskPhase } from './status.ts';

/** Type of the message in the place of an internal event of a task. */
export const CHANGED = 'changed';

/**
 * A commit that added events to a task ends with this message, unless its last event is published. It says that the history
 * has more, and is no event itself.
 */
export const TaskChanged = z.object({
  type: z.literal(CHANGED),
  id: TaskId,
  /** Version of the task, equal to `ce-version`. */
  version: z.int().min(1),
  phase: TaskPhase,
  /** Type of the latest event. */
  latest: z.string(),
});
export type TaskChanged = z.infer<typeof TaskChanged>;
