import { RESEND_TIMING, type ResendTiming } from '@holdpoint/runtime/decider';

/** Durations of the task decider, in milliseconds. Tests shorten them. */
export type TaskTiming = {
  /** An unanswered command is sent again after `firstMs`, then ever more rarely, at least every `lastMs`. */
  readonly resend: ResendTiming;
  /** A repository that lacks something is inspected again after `firstMs`; the delay doubles up to `lastMs`. */
  readonly inspection: ResendTiming;
  /** A retry that falls due during a pause is tried again after this. */
  readonly pausedRetryMs: number;
};

export const TASK_TIMING: TaskTiming = {
  resend: RESEND_TIMING,
  inspection: { firstMs: 5_000, lastMs: 300_000 },
  pausedRetryMs: 5_000,
};
