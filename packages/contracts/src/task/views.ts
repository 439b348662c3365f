import { z } from 'zod';
import { Verdict } from '../recovery/verdict.ts';
import { AgentName } from '../values/agent.ts';
import { ErrorBody } from '../values/errors.ts';
import { ApprovalId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { Usage } from '../workflow/attempt.ts';
import { OnBehalfOf, TaskEvidence } from '../workflow/review.ts';
import { Budget, Outcome } from '../workflow/workflow.ts';
import { ApprovalStatus } from '../approval/status.ts';
import { Checkpoint, JobStatus, NodeWait, TaskPhase } from './status.ts';
import { StepContext } from './step.ts';

/** One node of a task as the API shows it. */
export const NodeView = z.object({
  id: NodeId,
  /** Status in the orchestrator. */
  status: z.string(),
  /** Status as a job. */
  job: JobStatus,
  attempt: z.int(),
  uses: z.string(),
  name: z.string().optional(),
  after: z.array(NodeId),
  wait: NodeWait.optional(),
  reason: z.string().optional(),
  detail: z.string().optional(),
  exitCode: z.int().optional(),
  approval: ApprovalId.optional(),
  /** The effect of its latest request for approval. */
  effect: EffectId.optional(),
  /** Open question about an in-doubt effect or a stuck job. */
  question: ApprovalId.optional(),
  /** Verdict that is being executed, or that waits for an operator. */
  verdict: Verdict.omit({ hint: true, report: true }).optional(),
  /** Number of the current session. */
  session: z.int().optional(),
  /** Whether a person must approve the start. */
  gated: z.boolean(),
  /** Ordered effects without an outcome. */
  effects: z.array(EffectId).optional(),
  locks: z.array(z.string()).optional(),
  needs: z.array(z.string()).optional(),
  produces: z.array(z.string()).optional(),
  context: StepContext.optional(),
  outputs: JsonObject.optional(),
  error: ErrorBody.optional(),
});
export type NodeView = z.infer<typeof NodeView>;

/** The latest request for approval of a task, also after its decision. */
export const LatestApproval = z.object({
  id: ApprovalId,
  node: NodeId,
  attempt: z.int().min(1),
  status: ApprovalStatus,
  by: z.string().optional(),
  /** Comment of the decision. */
  note: z.string().optional(),
});
export type LatestApproval = z.infer<typeof LatestApproval>;

/** One task as the API shows it. */
export const TaskView = z.object({
  id: TaskId,
  workflow: z.string(),
  /** Selector of the workflow, and digest of the running definition. */
  selector: z.string().optional(),
  definitionHash: z.string(),
  goal: z.string(),
  acceptanceCriteria: z.array(z.string()).optional(),
  phase: TaskPhase,
  version: z.int(),
  repository: z.string().optional(),
  after: z.array(z.string()).optional(),
  requestedBy: z.string(),
  agent: AgentName.optional(),
  /** Outcome of the whole task, once it ended. */
  outcome: Outcome.optional(),
  /** Nodes without a success route: `--after run:<id>` waits for them. */
  sinks: z.array(NodeId),
  entries: z.array(NodeId),
  nodes: z.array(NodeView),
  /** The latest ones, oldest first. */
  checkpoints: z.array(Checkpoint).optional(),
  ...TaskEvidence.shape,
  latestApproval: LatestApproval.optional(),
  onBehalfOf: OnBehalfOf.optional(),
  error: ErrorBody.optional(),
  /** Used amount and limit. */
  spent: Usage.optional(),
  budget: Budget.optional(),
  /** The open circuit that the task waits for. */
  circuit: z.string().optional(),
  /** TypeScript workflows: the state after the last phase, and the tasks of its effects. */
  state: JsonObject.optional(),
  effects: z.array(TaskId).optional(),
});
export type TaskView = z.infer<typeof TaskView>;
