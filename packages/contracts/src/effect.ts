import { z } from 'zod';
import { ErrorBody } from './errors.ts';
import { ApprovalId, EffectId, NodeId, TaskId } from './ids.ts';
import { digestOf, Json, JsonObject } from './json.ts';
import { CapabilityLabel, EffectClass, SideEffectKind } from './workflow.ts';

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

/** What a grant says, as the claims of its JWS. Times are epoch seconds, as RFC 7519 has them. */
export const GrantClaims = z.object({
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
});
export type RunEffect = z.infer<typeof RunEffect>;

const about = {
  id: EffectId,
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
} as const;

export const CancelEffect = z.object({ ...about, reason: z.string().max(1_000) });
export type CancelEffect = z.infer<typeof CancelEffect>;

/** The order is in the ledger and waits for a free place. */
export const EffectPrepared = z.object({ type: z.literal('prepared'), ...about, order: RunEffect });
export const EffectStarted = z.object({
  type: z.literal('started'),
  ...about,
  order: RunEffect,
  /** Rises with every start; whoever holds a lower one may record nothing. */
  epoch: z.int().min(1),
  worker: z.string(),
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
/** Nobody can know whether it happened. `next` says what follows: the executor repeats, or a person is asked. */
export const EffectInDoubt = z.object({
  type: z.literal('in_doubt'),
  ...about,
  epoch: z.int(),
  reason: z.string(),
  next: z.enum(['repeat', 'person']),
});
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
});

export const EffectEvent = z.discriminatedUnion('type', [
  EffectPrepared,
  EffectStarted,
  EffectApplied,
  EffectFailedClean,
  EffectInDoubt,
  EffectRefused,
  EffectCancelled,
  EffectCancelRequested,
  EffectSuperseded,
]);
export type EffectEvent = z.infer<typeof EffectEvent>;
