import { z } from 'zod';
import { ApprovalPolicy, Verb } from './approval-policy.ts';
import { NodeId } from '../values/ids.ts';
import { Json } from '../values/json.ts';
import { SideEffectKind, WAIT_MAX_MS } from './side-effect.ts';

/** Text with `{{ expression }}` and `{% statement %}` parts, rendered when the request is made. */
const Text = z.string().max(65_536);
/** An expression over the scope of a gate. */
const Condition = z.string().min(1).max(2_000);

/**
 * Suggestions of a gate to the orchestrator:
 *
 * - `resume_executor`: order the effect, or continue the step;
 * - `return_to_orchestrator`: do not order it; continue at the node `to`, or as `phase` says;
 * - `skip_duplicate_effect`: use the known outcome;
 * - `ask_orchestrator_for_resume_decision`: ask recovery, then an operator.
 */
export const Suggestion = z.object({
  emit: z.enum([
    'resume_executor',
    'return_to_orchestrator',
    'skip_duplicate_effect',
    'ask_orchestrator_for_resume_decision',
  ]),
  /** With `return_to_orchestrator`: refused, paused, given to recovery, or back to the work before the effect. */
  phase: z.enum(['blocked', 'paused', 'recovering', 'execution_ready']).optional(),
  /** With `return_to_orchestrator`: the next node. */
  to: NodeId.optional(),
});
export type Suggestion = z.infer<typeof Suggestion>;

/** An input of a gate, set by the effect that uses it. */
export const GateInput = z.object({
  type: z.enum(['string', 'integer', 'number', 'boolean', 'enum', 'list', 'object']),
  required: z.boolean().optional(),
  default: Json.optional(),
  /** With `enum`. */
  values: z.array(z.string().max(200)).max(100).optional(),
  description: z.string().max(2_000).optional(),
});
export type GateInput = z.infer<typeof GateInput>;

/** Available names in texts and conditions of a gate, besides the effect itself. */
export const GateContext = z.enum(['task', 'node', 'outputs', 'attempts', 'checkpoints']);
export type GateContext = z.infer<typeof GateContext>;

/** A checkpoint that a gate records in the history of the task. Texts of the payload are rendered. */
export const GateCheckpoint = z.object({
  checkpoint: z.string().min(1).max(200),
  note: Text.optional(),
  payload: z.record(z.string().max(64), Json).optional(),
});
export type GateCheckpoint = z.infer<typeof GateCheckpoint>;

/** A resolved gate template, stored with the task. */
export const Gate = z.object({
  id: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'lower-case letters, digits, - and _'),
  version: z.string().min(1).max(64),
  purpose: z.string().max(2_000).optional(),
  inputs: z.record(z.string().max(64), GateInput),
  /** Values of the inputs; texts are rendered when the request is made. */
  given: z.record(z.string().max(64), Json),
  loadContext: z.array(GateContext).max(8),
  request: z.object({
    title: Text.optional(),
    /** Texts; empty results are omitted. */
    audience: z.array(z.string().min(1).max(500)).min(1).max(50).optional(),
    body: Text.optional(),
    /** Checkpoints that the request adds to the task's history. */
    onOpen: z.array(GateCheckpoint).max(8),
  }),
  policy: ApprovalPolicy,
  /** Timeout by kind of effect; `default` for the others. */
  timeoutMs: z.partialRecord(
    z.enum([...SideEffectKind.options, 'default']),
    z.int().min(1_000).max(WAIT_MAX_MS),
  ),
  onDecision: z.partialRecord(z.enum([...Verb.options, 'expire']), Suggestion),
  /** `branches`: the first matching branch; `decision`: by the decision alone. */
  resumePolicy: z.enum(['branches', 'decision']),
  resumeBranches: z
    .array(
      z.object({
        when: Condition,
        ...Suggestion.shape,
        /** Recorded when the branch matches. */
        checkpoints: z.array(GateCheckpoint).max(4).optional(),
      }),
    )
    .max(16),
  recovery: z.object({
    onWorkerCrash: Suggestion.optional(),
    onDuplicateSideEffectAttempt: Suggestion.optional(),
  }),
  /** Conditions before the request; the first violated one fails the node with its message. */
  constraints: z.array(z.object({ when: Condition, message: z.string().min(1).max(1_000) })).max(16),
});
export type Gate = z.infer<typeof Gate>;
