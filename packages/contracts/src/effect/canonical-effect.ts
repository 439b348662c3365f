import { z } from 'zod';
import { NodeId, TaskId } from '../values/ids.ts';
import { digestOf, JsonObject } from '../values/json.ts';
import { CapabilityLabel, EffectClass, SideEffectKind } from '../workflow/workflow.ts';

/**
 * An effect in the form that is approved, digested and run: nothing that decides what happens may stand outside it,
 * and nothing that changes from one attempt to the next may stand inside.
 */
export const CanonicalEffect = z.object({
  task: TaskId,
  node: NodeId,
  uses: CapabilityLabel,
  args: JsonObject,
  /** `work` is no effect: it needs no grant, may be repeated, and only some capabilities may be ordered so. */
  kind: z.union([SideEffectKind, z.literal('work')]),
  effectClass: EffectClass,
  target: z.string().min(1),
  idempotencyKey: z.string().min(1),
});
export type CanonicalEffect = z.infer<typeof CanonicalEffect>;

/** SHA-256 over RFC 8785, 64 hex digits. */
export const Digest = z.string().regex(/^[0-9a-f]{64}$/);

export const effectDigest = (effect: CanonicalEffect): string => digestOf(effect);
