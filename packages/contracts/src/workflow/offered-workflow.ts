import { z } from 'zod';
import { InputField } from './input.ts';

const [TextField, NumberField, BooleanField, ChoiceField] = InputField.options;

/** An input of a workflow: a form field or another type, with its default. */
export const WorkflowInput = z.discriminatedUnion('type', [
  TextField.extend({ default: z.string().max(10_000).optional() }),
  NumberField.extend({ default: z.number().optional() }),
  BooleanField.extend({ default: z.boolean().optional() }),
  ChoiceField.extend({ default: z.string().max(100).optional() }),
  /** Texts, such as a command and its arguments. */
  BooleanField.extend({ type: z.literal('list') }),
  /** Any JSON. */
  BooleanField.extend({ type: z.literal('json') }),
]);
export type WorkflowInput = z.infer<typeof WorkflowInput>;

/** A workflow that tasks can select by name. */
export const OfferedWorkflow = z.object({
  id: z.string(),
  version: z.string(),
  /** One-line description. */
  title: z.string().max(500).optional(),
  kind: z.enum(['built_in', 'program']),
  /** Whether its tasks use a repository. */
  repository: z.enum(['needed', 'optional', 'unused']),
  /** Its inputs; any object for TypeScript workflows without declared inputs. */
  inputs: z.array(WorkflowInput).max(100).optional(),
});
export type OfferedWorkflow = z.infer<typeof OfferedWorkflow>;
