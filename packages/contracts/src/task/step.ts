import { z } from 'zod';
import { Artifact } from '../workflow/artifact.ts';
import { AttemptReport } from '../workflow/attempt.ts';
import { Json, JsonObject } from '../values/json.ts';
import { StoredArtifact } from '../effect/stored-artifact.ts';
import { Outcome, Precondition } from '../workflow/workflow.ts';

/** Working directory and branch of a node, inherited along `after` and routes. */
export const StepContext = z.object({
  branch: z.string().max(256).optional(),
  /** Relative to the repository; absent for the repository itself. */
  worktree: z.string().max(1_024).optional(),
  slug: z.string().max(256).optional(),
  /** The merged target branch, and its new commit. */
  target: z.string().max(256).optional(),
  commit: z.string().max(64).optional(),
});
export type StepContext = z.infer<typeof StepContext>;

/** Changes of the context; null removes a field. */
const ContextChange = z.object({
  branch: StepContext.shape.branch.nullable(),
  worktree: StepContext.shape.worktree.nullable(),
  slug: StepContext.shape.slug.nullable(),
  target: StepContext.shape.target.nullable(),
  commit: StepContext.shape.commit.nullable(),
});

/** Content of an artifact, such as the text of a prompt. */
export const Payload = JsonObject;
export type Payload = JsonObject;

/**
 * Arguments of every stage capability. They contain everything that decides what happens, so approving
 * them approves the step.
 */
export const StepInput = z.object({
  /** The node's own arguments. */
  with: z.record(z.string(), Json),
  /** Absolute path of the repository on the executor's machine. */
  repository: z.string().max(4_096).optional(),
  context: StepContext,
  /** Needed artifacts with content, by label. */
  payloads: z.record(z.string(), Payload).optional(),
  /** Artifacts that the node produces on success; prompts and agents write their text under these labels. */
  produces: z.array(Artifact).optional(),
  script: z.string().optional(),
  fixScript: z.string().optional(),
  autoResolve: z.boolean().optional(),
  agent: z.array(z.string()).optional(),
  /** Arguments of all nodes, as `<node>.<arg>`, for placeholders of a prompt. */
  values: z.record(z.string(), z.string()).optional(),
  /** Acceptance criteria of the task, for the prompt of the agent. */
  acceptanceCriteria: z.array(z.string()).optional(),
  /** Earlier failures, for the next attempt of the agent. */
  hint: z.string().optional(),
  /** The agent should report its attempt at the end. */
  reports: z.boolean().optional(),
  preconditions: z.array(Precondition).optional(),
  /** Artifacts whose existence is checked before the start. */
  artifacts: z.array(Artifact).optional(),
  /** Result of the preview of this effect. */
  preview: JsonObject.optional(),
  timeoutMs: z.int().optional(),
});
export type StepInput = z.infer<typeof StepInput>;

/** Result of a step. `failed` is a regular result: the step ran and failed. */
export const StepResult = z.object({
  outcome: Outcome,
  exitCode: z.int().optional(),
  /** One or two lines for operators. */
  detail: z.string().max(2_000).optional(),
  /** For expressions and for display. */
  outputs: JsonObject.optional(),
  context: ContextChange.optional(),
  payloads: z.record(z.string(), Payload).optional(),
  /** End of the output of a failed script. */
  hint: z.string().max(65_536).optional(),
  report: AttemptReport.optional(),
  /** Full output of the step. */
  log: StoredArtifact.optional(),
});
export type StepResult = z.infer<typeof StepResult>;

/** Outputs of `cap.env.builtin.repository.inspect`. */
export const InspectOutputs = z.object({
  /** Each checked precondition, with an explanation. */
  preconditions: z.array(z.object({ kind: z.string(), met: z.boolean(), detail: z.string() })),
  /** Existing artifacts by label. */
  artifacts: z.record(z.string(), z.boolean()),
});
export type InspectOutputs = z.infer<typeof InspectOutputs>;
