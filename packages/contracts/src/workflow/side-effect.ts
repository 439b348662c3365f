import { z } from 'zod';

/** Kind of an effect; it selects the approval policy. */
export const SideEffectKind = z.enum([
  'write_external',
  'deploy',
  'merge',
  'notify',
  'destructive_edit',
  'other',
]);
export type SideEffectKind = z.infer<typeof SideEffectKind>;

/**
 * Guarantee of the target after an interruption. Part of the capability and of the approved digest.
 *
 * - `fenced`: compare-and-set or a fencing token; `keyed`: remembers our key; `probeable`: a read shows whether it was applied;
 * - `idempotent`: repeating is harmless; `opaque`: none, so a person is asked.
 */
export const EffectClass = z.enum(['fenced', 'keyed', 'probeable', 'idempotent', 'opaque']);
export type EffectClass = z.infer<typeof EffectClass>;

/** A capability label such as `cap.file.append` or `control.terminal`. */
export const CapabilityLabel = z
  .string()
  .max(128)
  .regex(/^(cap|control)(\.[a-z0-9_]+)+$/, 'a label such as cap.file.append');

/** Default time for a decision or an answer. */
export const DECISION_MS = 7 * 86_400_000;

/** Maximum wait: added to any time, it stays within the range of clocks and stores. */
export const WAIT_MAX_MS = 30 * 86_400_000;
