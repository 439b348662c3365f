import { z } from 'zod';
import { ApprovalId, EffectId, NodeId, TaskId, TOKEN } from '../values/ids.ts';
import { CanonicalEffect, Digest } from './canonical-effect.ts';
import { Grant } from './grant.ts';

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

/** Hands the executor what a person has said. It believes the signature, and nothing else. */
export const ResolveEffect = z.object({ ...about, statement: Grant });
export type ResolveEffect = z.infer<typeof ResolveEffect>;
