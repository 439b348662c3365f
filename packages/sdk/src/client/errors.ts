import { type ErrorBody, type ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Json } from '@holdpoint/contracts/values/json';

const nameIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A task has failed, with the code of the failure. */
export class WorkflowFailed extends HoldpointError {
  override readonly name = 'WorkflowFailed';
  readonly task: string;
  /** The output of a terminal phase with the outcome `failed`. */
  readonly output: Json | undefined;
  /** The failed phase. */
  readonly toPhase: string | undefined;
  /** The phase before it; undefined for the first phase of a task. */
  readonly fromPhase: string | undefined;

  constructor(task: string, { code, message, details }: ErrorBody, output?: Json) {
    // Codes of newer services are kept.
    super(code as ErrorCode, message, { ...(details && { details }) });
    this.task = task;
    this.output = output;
    this.toPhase = nameIn(details?.['node']);
    this.fromPhase = nameIn(details?.['from']);
  }
}

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
