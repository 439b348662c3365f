import { z } from 'zod';
import { ApprovalId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { CapabilityLabel, EffectClass, SideEffectKind } from '../workflow/workflow.ts';
import { CanonicalEffect, Digest } from './canonical-effect.ts';
import { EffectInDoubt } from './events.ts';
import { InDoubtAnswer } from './grant.ts';
import { InDoubtCause } from './in-doubt-cause.ts';

/** One effect as the ledger has it. */
export const EffectView = z.object({
  id: EffectId,
  task: TaskId,
  node: NodeId,
  state: z.string(),
  epoch: z.int(),
  digest: Digest,
  /** Under whose grant it was ordered last. */
  approval: ApprovalId.optional(),
  idempotencyKey: z.string(),
  starts: z.int(),
  uses: z.string().optional(),
  target: z.string().optional(),
  effectClass: EffectClass.optional(),
  /** Why it is in doubt, refused, cancelled, or known not to have happened. */
  reason: z.string().optional(),
  /** With `in_doubt`: what follows, and what left the doubt. */
  next: EffectInDoubt.shape.next.optional(),
  cause: InDoubtCause.optional(),
  /** How many attempts ordered it once there was an outcome. */
  duplicatesPrevented: z.int().optional(),
  /** What a person has said of it last, and who. */
  answer: InDoubtAnswer.optional(),
  answeredBy: z.string().optional(),
  /** Why it does not begin although it may: what it talks to fails. */
  deferredReason: z.string().max(1_000).optional(),
});
export type EffectView = z.infer<typeof EffectView>;

/** What an executor can do, by its label. */
export const CapabilityView = z.object({
  uses: CapabilityLabel,
  /** As an effect. */
  effectClass: EffectClass,
  /** It may be ordered without an approval, as work. */
  work: z.boolean(),
  /** The only kind of effect that it may be. */
  kind: SideEffectKind.optional(),
  /** It can show beforehand what it would do, tell afterwards whether it did, and take it back. */
  preview: z.boolean(),
  probe: z.boolean(),
  compensate: z.boolean(),
  /** JSON Schema of its arguments, when one capability was asked for. */
  input: JsonObject.optional(),
});
export type CapabilityView = z.infer<typeof CapabilityView>;

/** What an effect was ordered with and gave, and what would take it back. */
export const EffectOrder = z.object({
  id: EffectId,
  state: z.string(),
  effect: CanonicalEffect,
  /** The executors that it was ordered from. */
  pool: z.string().optional(),
  outputs: JsonObject.optional(),
  compensation: z.object({ uses: CapabilityLabel, effectClass: EffectClass }).optional(),
});
export type EffectOrder = z.infer<typeof EffectOrder>;
