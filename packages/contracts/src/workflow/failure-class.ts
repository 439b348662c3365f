import { z } from 'zod';

/** What kind of failure an attempt ended with: it decides what follows. */
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

/** What recovery says of a failure. */
export const VerdictKind = z.enum(['retry', 'rollback', 'skip', 'escalate', 'continue']);
export type VerdictKind = z.infer<typeof VerdictKind>;

/** With these nothing is tried by itself any more: a person says what becomes of the job. */
export const isGivingUp = ({ kind }: { readonly kind: VerdictKind }): boolean =>
  kind === 'skip' || kind === 'escalate';
