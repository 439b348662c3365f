import { z } from 'zod';
import { ErrorBody } from '../values/errors.ts';
import { ApprovalId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { Json, JsonObject } from '../values/json.ts';
import { RunEffect } from './commands.ts';
import { InDoubtAnswer } from './grant.ts';
import { InDoubtCause } from './in-doubt-cause.ts';

const about = {
  id: EffectId,
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  /** Under whose grant it was ordered. */
  approval: ApprovalId.optional(),
} as const;

/** The order is in the ledger and waits for a free place. */
export const EffectPrepared = z.object({ type: z.literal('prepared'), ...about, order: RunEffect });
export const EffectStarted = z.object({
  type: z.literal('started'),
  ...about,
  order: RunEffect,
  /** Rises with every start; whoever holds a lower one may record nothing. */
  epoch: z.int().min(1),
  worker: z.string(),
  /** The journal that the start is noted in: whoever holds it has outlived the worker. */
  journal: z.string().max(200).optional(),
});
export const EffectApplied = z.object({
  type: z.literal('applied'),
  ...about,
  epoch: z.int(),
  outputs: JsonObject,
});
/** It is certain that nothing happened. */
export const EffectFailedClean = z.object({
  type: z.literal('failed_clean'),
  ...about,
  epoch: z.int(),
  error: ErrorBody,
});

/**
 * Nobody can know whether it happened. `next` says what follows: the executor repeats it, asks the target, or a person is
 * asked.
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
/** The target was asked whether it happened. `unproven`: it has not, but the start that was lost may still be under way. */
export const EffectProbed = z.object({
  type: z.literal('probed'),
  ...about,
  epoch: z.int(),
  found: z.enum(['applied', 'not_applied', 'unproven', 'unknown']),
  reason: z.string(),
});
export type EffectProbed = z.infer<typeof EffectProbed>;
/** A person has said what became of it, or that it is to be done again. What follows is a fact of its own. */
export const EffectAnswered = z.object({
  type: z.literal('answered'),
  ...about,
  epoch: z.int(),
  answer: InDoubtAnswer,
  by: z.string(),
  approval: ApprovalId,
  /** With `retry`: until then it may begin. Epoch milliseconds. */
  until: z.int().optional(),
});
export type EffectAnswered = z.infer<typeof EffectAnswered>;
/** It was in doubt, and it is known by now that nothing happened: from the target, or from a person. */
export const EffectNotApplied = z.object({
  type: z.literal('not_applied'),
  ...about,
  epoch: z.int(),
  reason: z.string(),
  by: z.enum(['probe', 'person']),
});
export type EffectNotApplied = z.infer<typeof EffectNotApplied>;
/** It was ordered once more, and not carried out again: `standing` is what its outcome was by then. */
export const EffectDuplicatePrevented = z.object({
  type: z.literal('duplicate_prevented'),
  ...about,
  outcome: z.enum(['applied', 'not_applied', 'in_doubt']),
});
export type EffectDuplicatePrevented = z.infer<typeof EffectDuplicatePrevented>;
/** The order itself was not acceptable (grant, digest, key); nothing was started. */
export const EffectRefused = z.object({
  type: z.literal('refused'),
  ...about,
  order: RunEffect,
  error: ErrorBody,
});
export const EffectCancelled = z.object({ type: z.literal('cancelled'), ...about, reason: z.string() });
/** A running effect is to end. It may still be applied, but it is not started again. */
export const EffectCancelRequested = z.object({
  type: z.literal('cancel_requested'),
  ...about,
  reason: z.string(),
});
/** A worker whose epoch is over reported an outcome: kept as evidence, changes nothing. */
export const EffectSuperseded = z.object({
  type: z.literal('superseded'),
  ...about,
  epoch: z.int(),
  observed: Json,
  /** It says the opposite of what was settled: somebody has to look. */
  contradicts: z.boolean().optional(),
});

/** It may not begin, because what it talks to fails: it waits until the circuit of its target lets it. */
export const EffectDeferred = z.object({
  type: z.literal('deferred'),
  ...about,
  target: z.string().min(1).max(512),
  reason: z.string(),
});
export type EffectDeferred = z.infer<typeof EffectDeferred>;
/** It was held, and begins now: for whoever waits, and does not read of every start. */
export const EffectUndeferred = z.object({ type: z.literal('undeferred'), ...about });
export type EffectUndeferred = z.infer<typeof EffectUndeferred>;

export const EffectEvent = z.discriminatedUnion('type', [
  EffectPrepared,
  EffectDeferred,
  EffectUndeferred,
  EffectStarted,
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
