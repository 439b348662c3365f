import { z } from 'zod';
import { CircuitId, TaskId } from '../values/ids.ts';
import { RecoveryRules } from '../workflow/recovery-rules.ts';

/** Target of a circuit: an origin, or another name of an external system. */
export const TargetName = z.string().min(1).max(512);

/** Name of a workflow's circuit; targets use origins. */
export const workflowCircuit = (id: string): string => `workflow:${id}`;
export const isWorkflowCircuit = (target: string): boolean => target.startsWith('workflow:');

/** Name of an executor or person. */
const Name = z.string().min(1).max(200);
const Reason = z.string().max(1_000);

/** `open`: no orders go to the target. `half_open`: one trial order may. */
export const CircuitState = z.enum(['closed', 'open', 'half_open']);
export type CircuitState = z.infer<typeof CircuitState>;

/**
 * An executor's finding about a target: it fails (`open`) or works (`closed`). `half_open` asks for the
 * trial slot, because an order waits.
 */
export const ReportCircuit = z.object({
  target: TargetName,
  state: CircuitState,
  executor: Name,
  reason: Reason.optional(),
});
export type ReportCircuit = z.infer<typeof ReportCircuit>;

/** Recovery gave up a job. Enough of these open the circuit of the workflow. */
export const RecordCircuitFailure = z.object({
  target: TargetName,
  task: TaskId,
  circuit: RecoveryRules.shape.circuit,
});
export type RecordCircuitFailure = z.infer<typeof RecordCircuitFailure>;

/** A task asks whether it may start, and receives `task.circuit_state`; or the trial task reports its end. */
export const AcquireCircuit = z.object({
  target: TargetName,
  task: TaskId,
  outcome: z.enum(['succeeded', 'failed']).optional(),
  /** The trial task does not start or was cancelled: another task may try. */
  abandoned: z.boolean().optional(),
  /** With `outcome`: the circuit settings of the repository. */
  circuit: RecoveryRules.shape.circuit,
});
export type AcquireCircuit = z.infer<typeof AcquireCircuit>;

/** An operator sets the circuit. A circuit that an operator opened stays open until an operator closes it. */
export const SetCircuit = z.object({
  target: TargetName,
  state: z.enum(['open', 'closed']),
  reason: Reason.optional(),
});
export type SetCircuit = z.infer<typeof SetCircuit>;

const about = { id: CircuitId, target: TargetName } as const;

export const CircuitOpened = z.object({
  type: z.literal('circuit_opened'),
  ...about,
  reason: Reason,
  by: Name,
  /** Time of the next trial. Epoch milliseconds; absent when an operator must close it. */
  until: z.int().optional(),
});
export type CircuitOpened = z.infer<typeof CircuitOpened>;

export const CircuitHalfOpened = z.object({
  type: z.literal('circuit_half_opened'),
  ...about,
  /** The executor with the trial slot; absent until one asks. */
  executor: Name.optional(),
});
export type CircuitHalfOpened = z.infer<typeof CircuitHalfOpened>;

/** Recovery gave up a job of the workflow. */
export const CircuitFailureRecorded = z.object({
  type: z.literal('circuit_failure_recorded'),
  ...about,
  task: TaskId,
  at: z.int(),
});
export type CircuitFailureRecorded = z.infer<typeof CircuitFailureRecorded>;

export const CircuitClosed = z.object({
  type: z.literal('circuit_closed'),
  ...about,
  by: Name,
  reason: Reason.optional(),
});
export type CircuitClosed = z.infer<typeof CircuitClosed>;

export const CircuitEvent = z.discriminatedUnion('type', [
  CircuitOpened,
  CircuitHalfOpened,
  CircuitClosed,
  CircuitFailureRecorded,
]);
export type CircuitEvent = z.infer<typeof CircuitEvent>;

/** A circuit as the API shows it. */
export const CircuitView = z.object({
  id: CircuitId,
  target: TargetName,
  state: CircuitState,
  /** Reason and author of the last change. */
  reason: Reason.optional(),
  by: Name,
  /** While open: time of the next trial. Epoch milliseconds. */
  until: z.int().optional(),
  /** While half open: the executor with the trial slot. */
  executor: Name.optional(),
});
export type CircuitView = z.infer<typeof CircuitView>;
