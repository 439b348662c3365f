import { errorBody } from '@holdpoint/contracts/values/errors';
import type { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import type { z } from 'zod';
import { type Capability, CleanFailure } from '../ports/capability.ts';

export type { AppliedEffect, EffectContext, ProbeResult, Secrets } from '../ports/capability.ts';
export { CleanFailure, OutcomeUnknown } from '../ports/capability.ts';

/** A custom capability, and the facts that are needed before it is ordered. */
export type CustomCapability<Schema extends z.ZodType = z.ZodType> = Capability<Schema> & {
  /** `cap.custom.<name>`, in lower-case letters, digits and `_`. */
  readonly uses: `cap.custom.${string}`;
  /**
   * Guarantee of the target after an interruption. It decides whether a doubt is repeated, probed or left to an
   * operator.
   */
  readonly effectClass: EffectClass;
  /** It may also be ordered as work: without approval, and repeated after an interruption. */
  readonly work?: true;
  /** The only kind of its effects. Left out: any kind. */
  readonly kind?: SideEffectKind;
};

/** Types a capability by its schema. The executor checks it when it loads the module. */
export const defineCapability = <Schema extends z.ZodType>(
  capability: CustomCapability<Schema>,
): CustomCapability<Schema> => capability;

/** An error to throw when certainly nothing happened. Its message is shown to the users of the job. */
export const nothingHappened = (message: string, cause?: unknown): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', message), cause);
