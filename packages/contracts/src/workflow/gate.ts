import { z } from 'zod';
import { ApprovalPolicy, Verb } from './approval-policy.ts';
import { NodeId } from '../values/ids.ts';
import { Json } from '../values/json.ts';
import { SideEffectKind, WAIT_MAX_MS } from './side-effect.ts';

/** Text with `{{ expression }}` and `{% statement %}` parts, filled in when people are asked. */
const Text = z.string().max(65_536);
/** An expression over the scope of a gate. */
const Condition = z.string().min(1).max(2_000);

/**
 * What a gate suggests to the orchestrator, which decides:
 *
 * - `resume_executor`: the effect is ordered, or the step goes on;
 * - `return_to_orchestrator`: it is not; with `to`, the task goes back to that node, else as `phase` says;
 * - `skip_duplicate_effect`: what is known of it already counts;
 * - `ask_orchestrator_for_resume_decision`: recovery, and then a person, is asked.
 */
export const Suggestion = z.object({
  emit: z.enum([
    'resume_executor',
    'return_to_orchestrator',
    'skip_duplicate_effect',
    'ask_orchestrator_for_resume_decision',
  ]),
  /** With `return_to_orchestrator`: refused, paused for a person, or given to recovery. */
  phase: z.enum(['blocked', 'paused', 'recovering']).optional(),
  /** With `return_to_orchestrator`: the node that the task goes back to. */
  to: NodeId.optional(),
});
export type Suggestion = z.infer<typeof Suggestion>;

/** A value that a gate is given by the effect that uses it. */
export const GateInput = z.object({
  type: z.enum(['string', 'integer', 'number', 'boolean', 'enum', 'list', 'object']),
  required: z.boolean().optional(),
  default: Json.optional(),
  /** With `enum`. */
  values: z.array(z.string().max(200)).max(100).optional(),
  description: z.string().max(2_000).optional(),
});
export type GateInput = z.infer<typeof GateInput>;

/** What the texts and conditions of a gate may look at, beside the effect itself. */
export const GateContext = z.enum(['task', 'node', 'outputs', 'attempts', 'checkpoints']);
export type GateContext = z.infer<typeof GateContext>;

/** A gate template with everything resolved, as it is stored with the task whose effect it holds. */
export const Gate = z.object({
  id: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'lower-case letters, digits, - and _'),
  version: z.string().min(1).max(64),
  inputs: z.record(z.string().max(64), GateInput),
  /** The values of the inputs, texts of them filled in when people are asked. */
  given: z.record(z.string().max(64), Json),
  loadContext: z.array(GateContext).max(8),
  request: z.object({
    title: Text.optional(),
    /** Each a text; one that gives nothing is left out. */
    audience: z.array(z.string().min(1).max(500)).min(1).max(50).optional(),
    body: Text.optional(),
    /** Checkpoints that the opening of the request leaves in the task's history. */
    onOpen: z.array(z.object({ checkpoint: z.string().min(1).max(200), note: Text.optional() })).max(8),
  }),
  policy: ApprovalPolicy,
  /** How long it waits, by the kind of the effect; `default` for every other one. */
  timeoutMs: z.partialRecord(
    z.enum([...SideEffectKind.options, 'default']),
    z.int().min(1_000).max(WAIT_MAX_MS),
  ),
  onDecision: z.partialRecord(z.enum([...Verb.options, 'expire']), Suggestion),
  /** `branches`: the first branch that fits; `decision`: what the decision says alone. */
  resumePolicy: z.enum(['branches', 'decision']),
  resumeBranches: z.array(z.object({ when: Condition, ...Suggestion.shape })).max(16),
  recovery: z.object({
    onWorkerCrash: Suggestion.optional(),
    onDuplicateSideEffectAttempt: Suggestion.optional(),
  }),
  /** What has to hold before anybody is asked; the node fails with the message of the first that does not. */
  constraints: z.array(z.object({ when: Condition, message: z.string().min(1).max(1_000) })).max(16),
});
export type Gate = z.infer<typeof Gate>;
