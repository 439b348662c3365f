import { z } from 'zod';

/** Kind of a failure; it determines the verdict. */
export const FailureClass = z.enum([
  'BROKEN_BUILD',
  'VERIFICATION_FAILED',
  'CIRCULAR_FIX',
  'CONTEXT_EXHAUSTED',
  'TRANSIENT',
  'WORKER_CRASH',
  'EFFECT_IN_DOUBT',
  /** Wrong arguments or settings: every attempt fails the same way. */
  'MISCONFIGURED',
  'UNKNOWN',
]);
export type FailureClass = z.infer<typeof FailureClass>;

/** What recovery orders after a failure. */
export const VerdictKind = z.enum(['retry', 'rollback', 'skip', 'escalate', 'continue']);
export type VerdictKind = z.infer<typeof VerdictKind>;

/** These classes stop automatic recovery: an operator decides. */
export const isGivingUp = ({ kind }: { readonly kind: VerdictKind }): boolean =>
  kind === 'skip' || kind === 'escalate';
