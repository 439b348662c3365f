import { z } from 'zod';
import { ApprovalId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { CapabilityLabel, EffectClass, SideEffectKind } from '../workflow/workflow.ts';
import { CanonicalEffect, Digest } from './canonical-effect.ts';
import { EffectInDoubt } from './events.ts';
import { InDoubtAnswer } from './grant.ts';
import { InDoubtCause } from './in-doubt-cause.ts';
import { RemoteHolder } from './remote.ts';

/** One effect of the ledger. */
export const EffectView = z.object({
  id: EffectId,
  task: TaskId,
  node: NodeId,
  state: z.string(),
  epoch: z.int(),
  digest: Digest,
  /** The approval whose grant ordered it last. */
  approval: ApprovalId.optional(),
  /** Pool of the order, if it is not the default. */
  pool: z.string().optional(),
  idempotencyKey: z.string(),
  starts: z.int(),
  uses: z.string().optional(),
  target: z.string().optional(),
  effectClass: EffectClass.optional(),
  /** Reason of the state, for in-doubt, refused, cancelled and not-applied effects. */
  reason: z.string().optional(),
  /** With `in_doubt`: the next step and the cause. */
  next: EffectInDoubt.shape.next.optional(),
  cause: InDoubtCause.optional(),
  /** Number of duplicate orders after the outcome. */
  duplicatesPrevented: z.int().optional(),
  /** Last answer of a person, and the person. */
  answer: InDoubtAnswer.optional(),
  answeredBy: z.string().optional(),
  /** Why the start is deferred: its target fails. */
  deferredReason: z.string().max(1_000).optional(),
  /** The claimant that has the order, or had it last. */
  remote: RemoteHolder.optional(),
});
export type EffectView = z.infer<typeof EffectView>;

/** One capability of an executor. */
export const CapabilityView = z.object({
  uses: CapabilityLabel,
  /** Class as an effect. */
  effectClass: EffectClass,
  /** May be ordered as work, without an approval. */
  work: z.boolean(),
  /** The only valid kind of effect. */
  kind: SideEffectKind.optional(),
  /** Supports preview, probe and compensation. */
  preview: z.boolean(),
  probe: z.boolean(),
  compensate: z.boolean(),
  /** JSON Schema of the arguments, when one capability was requested. */
  input: JsonObject.optional(),
});
export type CapabilityView = z.infer<typeof CapabilityView>;

/** Order, outputs and compensation of an effect. */
export const EffectOrder = z.object({
  id: EffectId,
  state: z.string(),
  effect: CanonicalEffect,
  /** Pool of the order. */
  pool: z.string().optional(),
  outputs: JsonObject.optional(),
  compensation: z.object({ uses: CapabilityLabel, effectClass: EffectClass }).optional(),
});
export type EffectOrder = z.infer<typeof EffectOrder>;

/** An executor as the ledger knows it. */
export const ExecutorView = z.object({
  /** The id of its journal. */
  name: z.string(),
  /** Epoch milliseconds of its last sign of life. */
  seenAt: z.number(),
  /** It has given none for ten minutes, and was not forgotten. */
  missing: z.boolean(),
  /** Effects wait for its journal now. */
  awaited: z.boolean(),
  forgottenAt: z.number().optional(),
  forgottenBy: z.string().optional(),
  forgottenWhy: z.string().optional(),
});
export type ExecutorView = z.infer<typeof ExecutorView>;
