import { z } from 'zod';
import { CircuitId } from './ids.ts';

/** What a circuit stands for: the origin of a target, or another name of what is outside. */
export const TargetName = z.string().min(1).max(512);

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

export const CircuitClosed = z.object({
  type: z.literal('circuit_closed'),
  ...about,
  by: Name,
  reason: Reason.optional(),
});
export type CircuitClosed = z.infer<typeof CircuitClosed>;

export const CircuitEvent = z.discriminatedUnion('type', [CircuitOpened, CircuitHalfOpened, CircuitClosed]);
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
