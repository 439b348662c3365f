import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { Notification } from '@holdpoint/contracts/task/registry';
import type { CommandId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import type { WorkRequest } from '@holdpoint/contracts/program/work';
import type { RecordReview, SubmitTask } from '@holdpoint/contracts/task/commands';
import type { Program } from './state.ts';

type CommandFields = {
  readonly id: TaskId;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
};

/** A command of an operator. The command id tells a repeat from a new command. */
export type OperatorCommand =
  | {
      readonly kind: 'cancel' | 'pause' | 'resume' | 'retry';
      readonly payload: CommandFields;
      readonly commandId: CommandId;
    }
  | { readonly kind: 'record_review'; readonly payload: RecordReview; readonly commandId: CommandId };

/** A task at one version. The fork starts at the beginning of its current phase. */
export type ForkProgram = {
  readonly kind: 'fork_program';
  readonly task: TaskId;
  readonly origin: Program;
  readonly version: number;
  readonly by: string;
};

/** A message to a task that runs a program. */
export type ProgramMessage =
  | { readonly kind: 'submit'; readonly task: TaskId; readonly payload: SubmitTask }
  | ForkProgram
  | OperatorCommand
  | { readonly kind: 'work'; readonly payload: WorkRequest }
  | { readonly kind: 'approval'; readonly event: ApprovalResolved }
  | { readonly kind: 'notify'; readonly notification: Notification }
  | { readonly kind: 'watch'; readonly watcher: TaskId; readonly node?: string | undefined }
  | { readonly kind: 'timer'; readonly name: string; readonly data: Json };
