import { z } from 'zod';
import { NodeId, TaskId } from '../values/ids.ts';
import { digestOf, JsonObject } from '../values/json.ts';
import { CapabilityLabel, EffectClass, SideEffectKind } from '../workflow/workflow.ts';

/**
 * An effect in the form that is approved, digested and executed. It contains everything that decides what
 * happens, and nothing that differs between attempts.
 */
export const CanonicalEffect = z.object({
  task: TaskId,
  node: NodeId,
  uses: CapabilityLabel,
  args: JsonObject,
  /** `work` is not an effect: it needs no grant and may be repeated. Only some capabilities accept it. */
  kind: z.union([SideEffectKind, z.literal('work')]),
  effectClass: EffectClass,
  target: z.string().min(1),
  idempotencyKey: z.string().min(1),
});
export type CanonicalEffect = z.infer<typeof CanonicalEffect>;

/** SHA-256 over RFC 8785, 64 hex digits. */
export const Digest = z.string().regex(/^[0-9a-f]{64}$/);

export const effectDigest = (effect: CanonicalEffect): string => digestOf(effect);
