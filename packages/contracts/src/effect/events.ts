import { z } from 'zod';
import { compiled } from '../values/compiled.ts';
import { ErrorBody } from '../values/errors.ts';
import { ApprovalId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { Json, JsonObject } from '../values/json.ts';
import { RunEffect } from './commands.ts';
import { Grant, InDoubtAnswer } from './grant.ts';
import { InDoubtCause } from './in-doubt-cause.ts';
import { RemoteHolder } from './remote.ts';

const about = {
  id: EffectId,
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  /** The approval whose grant ordered it. */
  approval: ApprovalId.optional(),
} as const;

/** The order is in the ledger and waits for a slot. */
export const EffectPrepared = z.object({ type: z.literal('prepared'), ...about, order: RunEffect });
export const EffectStarted = z.object({
  type: z.literal('started'),
  ...about,
  order: RunEffect,
  /** Increases with every start; a holder of a lower epoch cannot record anything. */
  epoch: z.int().min(1),
  worker: z.string(),
  /** The journal of the start; its owner survived the worker. */
  journal: z.string().max(200).optional(),
  /** The claimant that carries it out, for remote effects. */
  remote: RemoteHolder.optional(),
});
/** A claimant has the order: again, because it repeated its claim, or for a probe of the target. */
export const EffectClaimed = z.object({
  type: z.literal('claimed'),
  ...about,
  epoch: z.int().min(1),
  to: z.enum(['run', 'probe']),
  /** The journal of the executor that answered the claim. */
  journal: z.string().max(200).optional(),
  remote: RemoteHolder,
});
export type EffectClaimed = z.infer<typeof EffectClaimed>;
export const EffectApplied = compiled(
  z.object({
    type: z.literal('applied'),
    ...about,
    epoch: z.int(),
    outputs: JsonObject,
  }),
);
/** The effect certainly did not happen. */
export const EffectFailedClean = z.object({
  type: z.literal('failed_clean'),
  ...about,
  epoch: z.int(),
  error: ErrorBody,
});

/**
 * It is unknown whether the effect happened. `next` is the next step: a repeat, a probe of the target, or
 * a question to a person.
 */
export const EffectInDoubt = z.object({
  type: z.literal('in_doubt'),
  ...about,
  epoch: z.int(),
  reason: z.string(),
  next: z.enum(['repeat', 'probe', 'person']),
  cause: InDoubtCause.optional(),
});
export type EffectInDoubt = z.infer<typeof EffectInDoubt>;
/** The target was probed. `unproven`: not applied yet, but the lost start may still be in progress. */
export const EffectProbed = z.object({
  type: z.literal('probed'),
  ...about,
  epoch: z.int(),
  found: z.enum(['applied', 'not_applied', 'unproven', 'unknown']),
  reason: z.string(),
});
export type EffectProbed = z.infer<typeof EffectProbed>;
/** A person answered the question about the in-doubt effect. Further events state the consequences. */
export const EffectAnswered = z.object({
  type: z.literal('answered'),
  ...about,
  epoch: z.int(),
  answer: InDoubtAnswer,
  by: z.string(),
  approval: ApprovalId,
  /** With `retry`: the latest start. Epoch milliseconds. */
  until: z.int().optional(),
  /** With `retry` of a remote effect: the signed answer, for its claimant. */
  statement: Grant.optional(),
});
export type EffectAnswered = z.infer<typeof EffectAnswered>;
/** The in-doubt effect turned out not to have happened, according to the target or a person. */
export const EffectNotApplied = z.object({
  type: z.literal('not_applied'),
  ...about,
  epoch: z.int(),
  reason: z.string(),
  by: z.enum(['probe', 'person']),
});
export type EffectNotApplied = z.infer<typeof EffectNotApplied>;
/** The effect was ordered again and not repeated; `outcome` is its state at that time. */
export const EffectDuplicatePrevented = z.object({
  type: z.literal('duplicate_prevented'),
  ...about,
  outcome: z.enum(['applied', 'not_applied', 'in_doubt']),
});
export type EffectDuplicatePrevented = z.infer<typeof EffectDuplicatePrevented>;
/** The order was invalid (grant, digest, key); nothing was started. */
export const EffectRefused = z.object({
  type: z.literal('refused'),
  ...about,
  order: RunEffect,
  error: ErrorBody,
});
export const EffectCancelled = z.object({ type: z.literal('cancelled'), ...about, reason: z.string() });
/** A running effect should end. It may still be applied, but is not started again. */
export const EffectCancelRequested = z.object({
  type: z.literal('cancel_requested'),
  ...about,
  reason: z.string(),
});
/** A worker with an expired epoch reported an outcome: recorded as evidence, without consequences. */
export const EffectSuperseded = z.object({
  type: z.literal('superseded'),
  ...about,
  epoch: z.int(),
  observed: Json,
  /** Contradicts the recorded outcome: an operator must investigate. */
  contradicts: z.boolean().optional(),
});

/** The start is deferred until the circuit of the target permits it. */
export const EffectDeferred = z.object({
  type: z.literal('deferred'),
  ...about,
  target: z.string().min(1).max(512),
  reason: z.string(),
});
export type EffectDeferred = z.infer<typeof EffectDeferred>;
/** The deferral ended and the effect starts; for readers that ignore other starts. */
export const EffectUndeferred = z.object({ type: z.literal('undeferred'), ...about });
export type EffectUndeferred = z.infer<typeof EffectUndeferred>;

export const EffectEvent = z.discriminatedUnion('type', [
  EffectPrepared,
  EffectDeferred,
  EffectUndeferred,
  EffectStarted,
  EffectClaimed,
  EffectApplied,
  EffectFailedClean,
  EffectInDoubt,
  EffectProbed,
  EffectAnswered,
  EffectNotApplied,
  EffectDuplicatePrevented,
  EffectRefused,
  EffectCancelled,
  EffectCancelRequested,
  EffectSuperseded,
]);
export type EffectEvent = z.infer<typeof EffectEvent>;
