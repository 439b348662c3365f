import { z } from 'zod';
import { Artifact } from '../workflow/artifact.ts';
import { AttemptReport } from '../workflow/attempt.ts';
import { Json, JsonObject } from '../values/json.ts';
import { StoredArtifact } from '../effect/stored-artifact.ts';
import { Outcome, Precondition } from '../workflow/workflow.ts';

/** Where a node works, as the nodes before it have left it. It follows the graph, along `after` as well as routes. */
export const StepContext = z.object({
  branch: z.string().max(256).optional(),
  /** Relative to the repository; without one, work is done in the repository itself. */
  worktree: z.string().max(1_024).optional(),
  slug: z.string().max(256).optional(),
  /** The branch that was merged into, and the commit that it has had since. */
  target: z.string().max(256).optional(),
  commit: z.string().max(64).optional(),
});
export type StepContext = z.infer<typeof StepContext>;

/** What changes of it; null takes a field away. */
const ContextChange = z.object({
  branch: StepContext.shape.branch.nullable(),
  worktree: StepContext.shape.worktree.nullable(),
  slug: StepContext.shape.slug.nullable(),
  target: StepContext.shape.target.nullable(),
  commit: StepContext.shape.commit.nullable(),
});

/** What an artifact holds beside its name, such as the text of a prompt. */
export const Payload = JsonObject;
export type Payload = JsonObject;

/**
 * The arguments of every capability of a stage. Nothing that decides what happens stands outside it, so it is what is
 * approved when the step is an effect.
 */
export const StepInput = z.object({
  /** The node's own arguments. */
  with: z.record(z.string(), Json),
  /** Absolute path of the repository on the executor's machine. */
  repository: z.string().max(4_096).optional(),
  context: StepContext,
  /** What the node needs, by artifact label, for what has a payload. */
  payloads: z.record(z.string(), Payload).optional(),
  /** What the node gives when it succeeds: a prompt or an agent writes its text under these. */
  produces: z.array(Artifact).optional(),
  script: z.string().optional(),
  fixScript: z.string().optional(),
  autoResolve: z.boolean().optional(),
  agent: z.array(z.string()).optional(),
  /** Arguments of all nodes, as `<node>.<arg>`, for the placeholders of a prompt. */
  values: z.record(z.string(), z.string()).optional(),
  /** What failed before, for the agent that tries again. */
  hint: z.string().optional(),
  /** The agent is asked to say at its end what it has tried. */
  reports: z.boolean().optional(),
  preconditions: z.array(Precondition).optional(),
  /** What is asked for before a node starts: which of these are there? */
  artifacts: z.array(Artifact).optional(),
  /** What was previewed, for the effect that it was a preview of. */
  preview: JsonObject.optional(),
  timeoutMs: z.int().optional(),
});
export type StepInput = z.infer<typeof StepInput>;

/** What carrying out a step came to. `failed` is a result like any other: it was carried out, and this is what it said. */
export const StepResult = z.object({
  outcome: Outcome,
  exitCode: z.int().optional(),
  /** For people, in a line or two. */
  detail: z.string().max(2_000).optional(),
  /** For expressions, and for whoever looks at the job. */
  outputs: JsonObject.optional(),
  context: ContextChange.optional(),
  payloads: z.record(z.string(), Payload).optional(),
  /** The end of what a failing script printed. */
  hint: z.string().max(65_536).optional(),
  /** What was tried, by whoever tried it. */
  report: AttemptReport.optional(),
  /** All that the step printed. */
  log: StoredArtifact.optional(),
});
export type StepResult = z.infer<typeof StepResult>;

/** What a look into a repository finds: the outputs of `cap.env.builtin.repository.inspect`. */
export const InspectOutputs = z.object({
  /** Each of the preconditions that were asked about, and what is so, for people. */
  preconditions: z.array(z.object({ kind: z.string(), met: z.boolean(), detail: z.string() })),
  /** By label: which of the artifacts are there. */
  artifacts: z.record(z.string(), z.boolean()),
});
export type InspectOutputs = z.infer<typeof InspectOutputs>;
