import { z } from 'zod';
import { InputField } from './input.ts';

const [TextField, NumberField, BooleanField, ChoiceField] = InputField.options;

/** One input of a workflow: a field as forms have them, or what none of those can take. With what counts when nothing is said. */
export const WorkflowInput = z.discriminatedUnion('type', [
  TextField.extend({ default: z.string().max(10_000).optional() }),
  NumberField.extend({ default: z.number().optional() }),
  BooleanField.extend({ default: z.boolean().optional() }),
  ChoiceField.extend({ default: z.string().max(100).optional() }),
  /** Texts, such as a program and its arguments. */
  BooleanField.extend({ type: z.literal('list') }),
  /** Any JSON. */
  BooleanField.extend({ type: z.literal('json') }),
]);
export type WorkflowInput = z.infer<typeof WorkflowInput>;

/** A workflow that the orchestrator knows by its name, for whoever starts a task of it. */
export const OfferedWorkflow = z.object({
  id: z.string(),
  version: z.string(),
  /** What it does, in a line. */
  title: z.string().max(500).optional(),
  kind: z.enum(['built_in', 'program']),
  /** Whether its tasks work in a repository. */
  repository: z.enum(['needed', 'optional', 'unused']),
  /** What it takes; of a program, which does not say, any object. */
  inputs: z.array(WorkflowInput).max(100).optional(),
});
export type OfferedWorkflow = z.infer<typeof OfferedWorkflow>;
