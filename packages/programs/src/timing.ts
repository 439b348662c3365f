import { RESEND_TIMING, type ResendTiming } from '@holdpoint/runtime/decider';

/** Durations of the program decider, in milliseconds. Tests shorten them. */
export type ProgramTiming = {
  /** An unanswered command is sent again after `firstMs`, then ever more rarely, at least every `lastMs`. */
  readonly resend: ResendTiming;
  /** A worker keeps its lease for so long after its last request. */
  readonly leaseMs: number;
  /** An unclaimed work order is sent again after `firstMs`; the delay doubles up to `lastMs`. */
  readonly unclaimed: ResendTiming;
};

export const PROGRAM_TIMING: ProgramTiming = {
  resend: RESEND_TIMING,
  leaseMs: 30_000,
  unclaimed: { firstMs: 10_000, lastMs: 120_000 },
};
