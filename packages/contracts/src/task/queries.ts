import { z } from 'zod';
import { TaskId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { Page } from '../values/page.ts';
import { TaskPhase } from './status.ts';

/** One line of `task list`. */
export const TaskSummary = z.object({
  id: TaskId,
  workflow: z.string(),
  goal: z.string(),
  phase: TaskPhase,
  version: z.int(),
  /** Submission time. Epoch milliseconds. */
  createdAt: z.int(),
  /** End of the task. Epoch milliseconds. */
  finishedAt: z.int().optional(),
  requestedBy: z.string().optional(),
});
export type TaskSummary = z.infer<typeof TaskSummary>;

/** Filters of the task list; all must hold. */
export const ListTasks = Page.extend({
  phase: TaskPhase.optional(),
  /** `draft`, or `draft@2` for one version. */
  workflow: z.string().min(1).max(300).optional(),
  requestedBy: z.string().min(1).max(200).optional(),
  /** Range of the submission time: inclusive, exclusive. Epoch milliseconds. */
  createdAfter: z.int().min(0).optional(),
  createdBefore: z.int().min(0).optional(),
  /** Words in goal, id or workflow; the last may be a prefix. */
  search: z.string().max(200).optional(),
});
export type ListTasks = z.infer<typeof ListTasks>;

/** One event of a task's history. Epoch milliseconds. */
export const HistoryEntry = z.object({ version: z.int(), at: z.int(), type: z.string(), data: JsonObject });
export type HistoryEntry = z.infer<typeof HistoryEntry>;

/** Source task and version, and the id of the new task. */
export const ForkTask = z.object({
  task: TaskId,
  version: z.int().min(1),
  id: TaskId.optional(),
  by: z.string().max(200).optional(),
});
export const TaskAck = z.object({ id: TaskId, phase: TaskPhase, version: z.int() });
