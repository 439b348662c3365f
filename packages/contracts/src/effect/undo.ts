import { z } from 'zod';
import { EffectId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { CapabilityLabel, EffectDeclaration } from '../workflow/workflow.ts';

/** Inputs of the workflow `undo`: an applied effect and its compensation. */
export const UndoInputs = z.strictObject({
  effect: EffectId,
  /** Label of the compensation. */
  uses: CapabilityLabel.regex(/\.compensate$/, 'label of a compensation'),
  effectClass: EffectDeclaration.shape.effectClass,
  /** Arguments and outputs of the effect. */
  args: JsonObject,
  outputs: JsonObject,
  target: EffectDeclaration.shape.target,
  pool: EffectDeclaration.shape.pool.optional(),
});
export type UndoInputs = z.infer<typeof UndoInputs>;
