import { z } from 'zod';

/** What an effect does to the world; it decides which approval policy applies. */
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
 * What the target of an effect gives after an interruption. It belongs to the capability and is part of the approved digest.
 *
 * - `fenced`: compare-and-set or a fencing token; `keyed`: remembers our key; `probeable`: a read tells applied from not;
 * - `idempotent`: repeating is harmless; `opaque`: nothing, so a person is asked.
 */
export const EffectClass = z.enum(['fenced', 'keyed', 'probeable', 'idempotent', 'opaque']);
export type EffectClass = z.infer<typeof EffectClass>;

/** A canonical label such as `cap.file.append` or `control.terminal`. */
export const CapabilityLabel = z
  .string()
  .max(128)
  .regex(/^(cap|control)(\.[a-z0-9_]+)+$/, 'a label such as cap.file.append');

/** No wait is longer: added to any time of day, it is still a time that clocks and stores can hold. */
export const WAIT_MAX_MS = 30 * 86_400_000;
