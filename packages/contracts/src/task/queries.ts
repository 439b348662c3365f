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
  /** When it was submitted. Epoch milliseconds. */
  createdAt: z.int(),
  requestedBy: z.string().optional(),
});
export type TaskSummary = z.infer<typeof TaskSummary>;

/** Which tasks are listed; all that is said has to hold. */
export const ListTasks = Page.extend({
  phase: TaskPhase.optional(),
  /** `draft`, or `draft@2` for one version of it alone. */
  workflow: z.string().min(1).max(300).optional(),
  requestedBy: z.string().min(1).max(200).optional(),
  /** Submitted then or later, and before; epoch milliseconds. */
  createdAfter: z.int().min(0).optional(),
  createdBefore: z.int().min(0).optional(),
  /** Words in goal, id or workflow; the last may be the beginning of one. */
  search: z.string().max(200).optional(),
});
export type ListTasks = z.infer<typeof ListTasks>;

/** One line of a task's history: the event as it was recorded, with its version and time in epoch milliseconds. */
export const HistoryEntry = z.object({ version: z.int(), at: z.int(), type: z.string(), data: JsonObject });
export type HistoryEntry = z.infer<typeof HistoryEntry>;

/** Which version of which task, and under which id the new one runs. */
export const ForkTask = z.object({
  task: TaskId,
  version: z.int().min(1),
  id: TaskId.optional(),
  by: z.string().max(200).optional(),
});
export const TaskAck = z.object({ id: TaskId, phase: TaskPhase, version: z.int() });
