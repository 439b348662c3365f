import { z } from 'zod';
import { ProgramDefinition, ProgramView } from '../program/definition.ts';
import { GetValue, PutValue, ValueChunk, ValueStored } from '../program/value.ts';
import { WorkRequest, WorkAnswer } from '../program/work.ts';
import {
  CancelTask,
  CompleteNode,
  PauseTask,
  RecordCheckpoint,
  RecordReview,
  ResumeTask,
  RetryTask,
  SkipTask,
  SubmitTask,
} from '../task/commands.ts';
import { ForkTask, HistoryEntry, ListTasks, TaskAck, TaskSummary } from '../task/queries.ts';
import { TaskView } from '../task/views.ts';
import { TaskId } from '../values/ids.ts';
import { Page, pageOf } from '../values/page.ts';
import { OfferedWorkflow } from '../workflow/offered-workflow.ts';
import { adminEndpoints, deadLetterEndpoints, endpoint } from './endpoint.ts';

/** Endpoints of the orchestrator service. */
export const orchestratorApi = {
  ...adminEndpoints,
  ...deadLetterEndpoints,
  submit: endpoint('Submit a task; the answer follows once it is stored', SubmitTask, TaskAck),
  cancel: endpoint('Cancel a task', CancelTask, TaskAck),
  pause: endpoint('Pause a task: it starts nothing new', PauseTask, TaskAck),
  resume: endpoint('Resume a paused task', ResumeTask, TaskAck),
  retry: endpoint('Give failed or escalated nodes another attempt', RetryTask, TaskAck),
  skip: endpoint('Skip a node', SkipTask, TaskAck),
  done: endpoint('Mark a node as done', CompleteNode, TaskAck),
  checkpoint: endpoint('Record a checkpoint note for later sessions of a task', RecordCheckpoint, TaskAck),
  record_review: endpoint('Record a review of the work of a task', RecordReview, TaskAck),
  fork: endpoint('Start a new task from a version of another; ended nodes are taken over', ForkTask, TaskAck),
  get: endpoint('One task with its nodes', z.object({ id: TaskId }), TaskView),
  list: endpoint(
    'Tasks, latest submission first. A page may be incomplete: continue with `next`',
    ListTasks,
    pageOf(TaskSummary),
  ),
  history: endpoint(
    'Events of one task: all, or a page with `limit`',
    z.object({
      id: TaskId,
      /** Only events with a later version. */
      after: z.int().min(0).optional(),
      /** Maximum number of events; a large page may end earlier. */
      limit: z.int().min(1).max(1_000).optional(),
    }),
    z.object({
      events: z.array(HistoryEntry),
      /** Number of events of the task. */
      version: z.int().optional(),
      /** Later events exist. */
      more: z.boolean().optional(),
    }),
  ),
  program_register: endpoint(
    'Register versions of TypeScript workflows, so that tasks can use their names. Idempotent',
    z.object({ programs: z.array(ProgramDefinition).min(1).max(50) }),
    z.object({ items: z.array(ProgramView) }),
  ),
  program_list: endpoint('Registered TypeScript workflows, latest first', Page, pageOf(ProgramView)),
  workflows: endpoint(
    'Workflows that tasks can select by name, with their inputs; the latest version of TypeScript workflows',
    z.object({}),
    z.object({ items: z.array(OfferedWorkflow) }),
  ),
  work: endpoint('Request of a worker about its phase', WorkRequest, WorkAnswer),
  value_put: endpoint(
    'Store one chunk of a large value of a program; the last chunk completes it',
    PutValue,
    ValueStored,
  ),
  value_get: endpoint('One chunk of a large value of a program', GetValue, ValueChunk),
} as const;
