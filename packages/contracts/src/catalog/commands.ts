import type { z } from 'zod';
import { CancelApproval, RequestApproval } from '../approval/commands.ts';
import type { ServiceName } from '../bus/subjects.ts';
import { CancelEffect, ResolveEffect, RunEffect } from '../effect/commands.ts';
import { RecordCircuitFailure, AcquireCircuit, ReportCircuit } from '../recovery/circuit.ts';
import { AssessFailure, RecordAttempt, MarkJobUnstuck } from '../recovery/commands.ts';
import {
  ReportCircuitState,
  CancelTask,
  CompleteNode,
  PauseTask,
  RecordCheckpoint,
  RecordReview,
  RecoverTask,
  ResumeTask,
  RetryTask,
  SkipTask,
  SubmitTask,
  WatchTask,
} from '../task/commands.ts';
import { compiled } from '../values/compiled.ts';
import { CallBack, CallbackTaken } from '../webhook/callback.ts';
import { RegistryCommand, NotifyTask } from '../task/registry.ts';

/** Every command on the bus by receiving service: `hp.cmd.<aggregate>.<command>`. */
export const commands = {
  orchestrator: {
    submit: SubmitTask,
    cancel: CancelTask,
    pause: PauseTask,
    resume: ResumeTask,
    retry: RetryTask,
    skip: SkipTask,
    done: CompleteNode,
    checkpoint: RecordCheckpoint,
    record_review: RecordReview,
    recover: RecoverTask,
    circuit_state: ReportCircuitState,
    watch: WatchTask,
    notify: NotifyTask,
    registry: RegistryCommand,
    callback_taken: CallbackTaken,
  },
  approvals: { request: compiled(RequestApproval), cancel: CancelApproval, call_back: CallBack },
  executor: { run: compiled(RunEffect), cancel: CancelEffect, resolve: ResolveEffect },
  recovery: {
    assess: AssessFailure,
    record_attempt: RecordAttempt,
    job_unstuck: MarkJobUnstuck,
    circuit_report: ReportCircuit,
    circuit_record_failure: RecordCircuitFailure,
    circuit_acquire: AcquireCircuit,
  },
} as const;

/** A command as a typed value: `kind` is its name. */
export type CommandOf<S extends ServiceName> = {
  [C in keyof (typeof commands)[S]]: (typeof commands)[S][C] extends infer Schema extends z.ZodType
    ? { readonly kind: C; readonly payload: z.output<Schema> }
    : never;
}[keyof (typeof commands)[S]];
