import { z } from 'zod';
import { DoubtCause } from './in-doubt-cause.ts';
import { ErrorBody } from '../values/errors.ts';
import { ApprovalId, EffectId, NodeId, TaskId, TOKEN } from '../values/ids.ts';
import { digestOf, Json, JsonObject } from '../values/json.ts';
import { CapabilityLabel, EffectClass, SideEffectKind } from '../workflow/workflow.ts';

export { DoubtCause } from './in-doubt-cause.ts';

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

/** What a grant says, as the claims of its JWS. A statement of another use is none. Times are epoch seconds, as RFC 7519 has them. */
export const GrantClaims = z.object({
  use: z.literal('grant').optional(),
  jti: ApprovalId,
  /** The effect's id: a grant for one key is worth nothing for another. */
  sub: EffectId,
  digest: Digest,
  iat: z.int(),
  exp: z.int(),
  /** Who approved. */
  by: z.string(),
});
export type GrantClaims = z.infer<typeof GrantClaims>;

/** A grant as it travels: compact JWS over {@link GrantClaims}. The same wherever it passes, so that nobody hands on what the next refuses. */
export const Grant = z.string().min(1).max(4_096);

/** Order to carry out one effect. The executor believes none of it: digest and grant are checked inside the claim. */
export const RunEffect = z.object({
  id: EffectId,
  attempt: z.int().min(1),
  effect: CanonicalEffect,
  digest: Digest,
  /** Left out for work only. */
  grant: Grant.optional(),
  /** The approval that the grant names: what becomes of the effect is told with it. */
  approval: ApprovalId.optional(),
  /** Whose executors may carry it out: as the subject says, whatever stands here. Left out for the default pool. */
  pool: z.string().regex(TOKEN).optional(),
});
export type RunEffect = z.infer<typeof RunEffect>;

const about = {
  id: EffectId,
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  /** Under whose grant it was ordered. */
  approval: ApprovalId.optional(),
} as const;

export const CancelEffect = z.object({ ...about, reason: z.string().max(1_000) });
export type CancelEffect = z.infer<typeof CancelEffect>;

/** What a person says of an effect that nobody can be sure of: that it happened, that it did not, or that it is to be done again. */
export const DoubtAnswer = z.enum(['applied', 'not_applied', 'retry']);
export type DoubtAnswer = z.infer<typeof DoubtAnswer>;

/**
 * What the statement on a doubt says, as the claims of its JWS: a person's answer, signed by the approvals service as a grant
 * is. It is about one doubt, and no grant: `use` tells them apart. Times are epoch seconds.
 */
export const AnswerClaims = z.object({
  use: z.literal('answer'),
  jti: ApprovalId,
  sub: EffectId,
  digest: Digest,
  /** Of the doubt: a later one of the same effect is another question. */
  epoch: z.int().min(1),
  answer: DoubtAnswer,
  iat: z.int(),
  /** Until then an effect that is to be done again may begin. */
  exp: z.int(),
  by: z.string(),
});
export type AnswerClaims = z.infer<typeof AnswerClaims>;

/** What executors act on when it is signed. */
export const SignedClaims = z.union([AnswerClaims, GrantClaims]);
export type SignedClaims = z.infer<typeof SignedClaims>;

/** Hands the executor what a person has said. It believes the signature, and nothing else. */
export const ResolveEffect = z.object({ ...about, statement: Grant });
export type ResolveEffect = z.infer<typeof ResolveEffect>;

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
  cause: DoubtCause.optional(),
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
  answer: DoubtAnswer,
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
  standing: z.enum(['applied', 'not_applied', 'in_doubt']),
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
export const EffectHeld = z.object({
  type: z.literal('held'),
  ...about,
  target: z.string().min(1).max(512),
  reason: z.string(),
});
export type EffectHeld = z.infer<typeof EffectHeld>;
/** It was held, and begins now: for whoever waits, and does not read of every start. */
export const EffectReleased = z.object({ type: z.literal('released'), ...about });
export type EffectReleased = z.infer<typeof EffectReleased>;

export const EffectEvent = z.discriminatedUnion('type', [
  EffectPrepared,
  EffectHeld,
  EffectReleased,
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
