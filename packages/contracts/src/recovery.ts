import { z } from 'zod';
import { CircuitEvent } from './circuit.ts';
import { ErrorBody } from './errors.ts';
import { NodeId, TaskId } from './ids.ts';
import { EffectClass, WAIT_MAX_MS } from './workflow.ts';

export const FailureClass = z.enum([
  'BROKEN_BUILD',
  'VERIFICATION_FAILED',
  'CIRCULAR_FIX',
  'CONTEXT_EXHAUSTED',
  'TRANSIENT',
  'WORKER_CRASH',
  'EFFECT_IN_DOUBT',
  'UNKNOWN',
]);
export type FailureClass = z.infer<typeof FailureClass>;

export const VerdictKind = z.enum(['retry', 'rollback', 'skip', 'escalate', 'continue']);
export type VerdictKind = z.infer<typeof VerdictKind>;

/** Ask what to do about one failed attempt. */
export const AssessFailure = z.object({
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  /** How the attempt ended: with an error, or with an effect that nobody can be sure of. */
  outcome: z.enum(['failed', 'in_doubt']),
  effectClass: EffectClass.optional(),
  error: ErrorBody,
});
export type AssessFailure = z.infer<typeof AssessFailure>;

export const Verdict = z.object({
  kind: VerdictKind,
  /** How long to wait before a retry. */
  delayMs: z.int().min(0).max(WAIT_MAX_MS),
  class: FailureClass,
  /** Which row of the verdict table decided, as `table@version/row`. */
  rule: z.string(),
  reason: z.string(),
});
export type Verdict = z.infer<typeof Verdict>;

export const FailureAssessed = z.object({
  type: z.literal('assessed'),
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  error: ErrorBody,
  verdict: Verdict,
});
export type FailureAssessed = z.infer<typeof FailureAssessed>;
export const RecoveryEvent = z.discriminatedUnion('type', [FailureAssessed, ...CircuitEvent.options]);
export type RecoveryEvent = z.infer<typeof RecoveryEvent>;
