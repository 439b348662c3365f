import { errorBody } from '@holdpoint/contracts/values/errors';
import type { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import type { z } from 'zod';
import { type Capability, CleanFailure } from '../ports/capability.ts';

export type { AppliedEffect, EffectContext, ProbeResult, Secrets } from '../ports/capability.ts';
export { CleanFailure, OutcomeUnknown } from '../ports/capability.ts';

/** A capability of an operator's own, with what has to be known of it before anything is ordered. */
export type CustomCapability<Schema extends z.ZodType = z.ZodType> = Capability<Schema> & {
  /** `cap.custom.<name>`, of small letters, digits and `_`. */
  readonly uses: `cap.custom.${string}`;
  /** What its target gives after an interruption: it decides whether a doubt is repeated, looked into, or asked about. */
  readonly effectClass: EffectClass;
  /** It may be ordered without an approval as well, and is then repeated after an interruption. */
  readonly work?: true;
  /** It is always an effect of this kind. Any, when left out. */
  readonly kind?: SideEffectKind;
};

/** Types a capability by its schema. It is checked when an executor loads the module that exports it. */
export const defineCapability = <Schema extends z.ZodType>(
  capability: CustomCapability<Schema>,
): CustomCapability<Schema> => capability;

/** It is certain that nothing happened: to be thrown. The message is for whoever looks at the job. */
export const nothingHappened = (message: string, cause?: unknown): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_TARGET_REFUSED', message), cause);
