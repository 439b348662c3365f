import { z } from 'zod';
import { TOKEN } from '../bus/subjects.ts';
import { ApprovalId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { CanonicalEffect, Digest } from './canonical-effect.ts';
import { Grant } from './grant.ts';

/**
 * Order to execute one effect. The executor trusts nothing in it and checks digest and grant inside the
 * claim.
 */
export const RunEffect = z.object({
  id: EffectId,
  attempt: z.int().min(1),
  effect: CanonicalEffect,
  digest: Digest,
  /** Absent only for work. */
  grant: Grant.optional(),
  /** The approval in the grant; events about the effect repeat it. */
  approval: ApprovalId.optional(),
  /** The requester of the task, whose orders share places of the executor. */
  requester: z.string().max(256).optional(),
  /** Pool that may execute it. The subject decides; default: the default pool. */
  pool: z.string().regex(TOKEN).optional(),
});
export type RunEffect = z.infer<typeof RunEffect>;

const about = {
  id: EffectId,
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  /** The approval whose grant ordered it. */
  approval: ApprovalId.optional(),
} as const;

export const CancelEffect = z.object({ ...about, reason: z.string().max(1_000) });
export type CancelEffect = z.infer<typeof CancelEffect>;

/** Delivers a person's answer to the executor, which trusts only the signature. */
export const ResolveEffect = z.object({ ...about, statement: Grant });
export type ResolveEffect = z.infer<typeof ResolveEffect>;
