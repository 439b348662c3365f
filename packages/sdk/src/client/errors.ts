import { type ErrorBody, type ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Json } from '@holdpoint/contracts/values/json';

/** A task has failed. It has the code of what went wrong. */
export class WorkflowFailed extends HoldpointError {
  override readonly name = 'WorkflowFailed';
  readonly task: string;
  /** What a terminal phase with the outcome `failed` gave. */
  readonly output: Json | undefined;

  constructor(task: string, { code, message, details }: ErrorBody, output?: Json) {
    // A code of a newer service is kept as it is.
    super(code as ErrorCode, message, { ...(details && { details }) });
    this.task = task;
    this.output = output;
  }
}

/** A task was cancelled. */
export class WorkflowCancelled extends HoldpointError {
  override readonly name = 'WorkflowCancelled';
  readonly task: string;
  readonly by: string;
  readonly reason: string;

  constructor(task: string, by: string, reason: string) {
    super('NODE_CANCELLED', `task ${task} was cancelled by ${by}: ${reason}`);
    this.task = task;
    this.by = by;
    this.reason = reason;
  }
}
