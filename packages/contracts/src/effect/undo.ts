import { z } from 'zod';
import { EffectId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { CapabilityLabel, EffectDeclaration } from '../workflow/workflow.ts';

/** The inputs of the workflow `undo`: an effect that was applied, and what takes it back. */
export const UndoInputs = z.strictObject({
  effect: EffectId,
  /** The label of what takes it back. */
  uses: CapabilityLabel.regex(/\.compensate$/, 'the label of what takes an effect back'),
  effectClass: EffectDeclaration.shape.effectClass,
  /** What it was ordered with, and what it gave. */
  args: JsonObject,
  outputs: JsonObject,
  target: EffectDeclaration.shape.target,
  pool: EffectDeclaration.shape.pool.optional(),
});
export type UndoInputs = z.infer<typeof UndoInputs>;
