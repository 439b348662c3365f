import { z } from 'zod';
import { CircuitId, TaskId } from '../values/ids.ts';
import { RecoveryRules } from '../workflow/recovery-rules.ts';

/** What a circuit stands for: the origin of a target, or another name of what is outside. */
export const TargetName = z.string().min(1).max(512);

/** The circuit of a workflow: beside those of targets, which are origins. */
export const workflowCircuit = (id: string): string => `workflow:${id}`;
export const isWorkflowCircuit = (target: string): boolean => target.startsWith('workflow:');

/** Whoever looks after the circuits, by the name that it gives itself: an executor, or a person. */
const Name = z.string().min(1).max(200);
const Reason = z.string().max(1_000);

/** `open`: nothing is sent to the target. `half_open`: one order may try whether it is there again. */
export const CircuitState = z.enum(['closed', 'open', 'half_open']);
export type CircuitState = z.infer<typeof CircuitState>;

/**
 * What an executor has found of a target: that it fails (`open`), or that it is there (`closed`). With `half_open` it asks
 * whether it may try: it has an order that waits for the target.
 */
export const ReportCircuit = z.object({
  target: TargetName,
  state: CircuitState,
  executor: Name,
  reason: Reason.optional(),
});
export type ReportCircuit = z.infer<typeof ReportCircuit>;

/** A job of a task was given up. Enough of them, and the circuit of its workflow opens. */
export const RecordCircuitFailure = z.object({
  target: TargetName,
  task: TaskId,
  circuit: RecoveryRules.shape.circuit,
});
export type RecordCircuitFailure = z.infer<typeof RecordCircuitFailure>;

/** A task wants to start, and hears by `task.circuit_state` whether it may; or the one that was let try has come to its end. */
export const AcquireCircuit = z.object({
  target: TargetName,
  task: TaskId,
  outcome: z.enum(['succeeded', 'failed']).optional(),
  /** It was let try and does not, or was called off: that says nothing of the workflow, and another one may try. */
  abandoned: z.boolean().optional(),
  /** With `ended`: what the repository says of its circuit. */
  circuit: RecoveryRules.shape.circuit,
});
export type AcquireCircuit = z.infer<typeof AcquireCircuit>;

/** A person's word. What a person has opened stays open until a person closes it. */
export const SetCircuit = z.object({
  target: TargetName,
  state: z.enum(['open', 'closed']),
  reason: Reason.optional(),
  by: Name.optional(),
});
export type SetCircuit = z.infer<typeof SetCircuit>;

const about = { id: CircuitId, target: TargetName } as const;

export const CircuitOpened = z.object({
  type: z.literal('circuit_opened'),
  ...about,
  reason: Reason,
  by: Name,
  /** When it is tried next. Epoch milliseconds; left out when a person has to close it. */
  until: z.int().optional(),
});
export type CircuitOpened = z.infer<typeof CircuitOpened>;

export const CircuitHalfOpened = z.object({
  type: z.literal('circuit_half_opened'),
  ...about,
  /** The only one that may send an order to the target. Left out while none has asked. */
  executor: Name.optional(),
});
export type CircuitHalfOpened = z.infer<typeof CircuitHalfOpened>;

/** A job of a workflow was given up: counted for the circuit of the workflow. */
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

/** A circuit as it stands. */
export const CircuitView = z.object({
  id: CircuitId,
  target: TargetName,
  state: CircuitState,
  /** Why, and by whom, it was last opened or closed. */
  reason: Reason.optional(),
  by: Name,
  /** While it is open: when it is tried next. Epoch milliseconds. */
  until: z.int().optional(),
  /** While it is half open: who may try. */
  executor: Name.optional(),
});
export type CircuitView = z.infer<typeof CircuitView>;
