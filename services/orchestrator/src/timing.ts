import { PROGRAM_TIMING, type ProgramTiming } from '@holdpoint/programs/timing';
import { ACK_WAIT_MS } from '@holdpoint/contracts/bus/streams';
import { REGISTRY_TIMING, type RegistryTiming } from './registry/decide.ts';
import { TASK_TIMING, type TaskTiming } from './task/model/timing.ts';

/** Durations of all deciders of this service. */
export type Timing = {
  readonly task: TaskTiming;
  readonly program: ProgramTiming;
  readonly registry: RegistryTiming;
  /** Acknowledgement wait of all consumers. */
  readonly ackWaitMs: number;
};

/** The first resend follows after `firstResendMs`. All other delays keep their ratio to it; leases of workers stay as they are. */
export const orchestratorTiming = (
  firstResendMs: number = TASK_TIMING.resend.firstMs,
  ackWaitMs: number = ACK_WAIT_MS,
): Timing => {
  const scale = firstResendMs / TASK_TIMING.resend.firstMs;
  const scaled = ({ firstMs, lastMs }: TaskTiming['resend']) => ({
    firstMs: firstMs * scale,
    lastMs: lastMs * scale,
  });
  return {
    task: {
      resend: scaled(TASK_TIMING.resend),
      inspection: scaled(TASK_TIMING.inspection),
      pausedRetryMs: TASK_TIMING.pausedRetryMs * scale,
    },
    program: {
      resend: scaled(PROGRAM_TIMING.resend),
      unclaimed: scaled(PROGRAM_TIMING.unclaimed),
      leaseMs: PROGRAM_TIMING.leaseMs,
    },
    registry: { reminderMs: REGISTRY_TIMING.reminderMs * scale },
    ackWaitMs,
  };
};
