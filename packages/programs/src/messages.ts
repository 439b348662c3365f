import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { Notification } from '@holdpoint/contracts/task/registry';
import type { CommandId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import type { WorkRequest } from '@holdpoint/contracts/program/work';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { Program } from './state.ts';

type CommandFields = {
  readonly id: TaskId;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
};

/** What a person wants of the whole task. The command tells a repeat from the same wish once more. */
export type OperatorCommand = {
  readonly kind: 'cancel' | 'pause' | 'resume' | 'retry';
  readonly payload: CommandFields;
  readonly commandId: CommandId;
};

/** A task as it was at one version: the fork begins with the phase that it had come to. */
export type ForkProgram = {
  readonly kind: 'fork_program';
  readonly task: TaskId;
  readonly origin: Program;
  readonly version: number;
  readonly by: string;
};

/** Everything that a task of a program may be told. */
export type ProgramMessage =
  | { readonly kind: 'submit'; readonly task: TaskId; readonly payload: SubmitTask }
  | ForkProgram
  | OperatorCommand
  | { readonly kind: 'work'; readonly payload: WorkRequest }
  | { readonly kind: 'approval'; readonly fact: ApprovalResolved }
  | { readonly kind: 'notify'; readonly notification: Notification }
  | { readonly kind: 'watch'; readonly watcher: TaskId; readonly node?: string | undefined }
  | { readonly kind: 'timer'; readonly name: string; readonly data: Json };
