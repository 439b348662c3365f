import { z } from 'zod';
import { Verdict } from '../recovery/verdict.ts';
import { AgentName } from '../values/agent.ts';
import { ErrorBody } from '../values/errors.ts';
import { ApprovalId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { Usage } from '../workflow/attempt.ts';
import { Budget, Outcome } from '../workflow/workflow.ts';
import { Checkpoint, JobStatus, NodeWait, TaskPhase } from './status.ts';
import { StepContext } from './step.ts';

/** One node of a task as the API shows it. */
export const NodeView = z.object({
  id: NodeId,
  /** As the orchestrator has it. */
  status: z.string(),
  /** As a job. */
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
  /** Asks people what became of its effect, or what is to become of the job. */
  question: ApprovalId.optional(),
  /** While recovery is carried out, or a person has to decide: what recovery said. */
  verdict: Verdict.omit({ hint: true, report: true }).optional(),
  /** Counts the sessions of a job that goes on in new ones. */
  session: z.int().optional(),
  /** Whether a person has to let it run. */
  gated: z.boolean(),
  /** Effects that are ordered and have no outcome yet. */
  effects: z.array(EffectId).optional(),
  locks: z.array(z.string()).optional(),
  needs: z.array(z.string()).optional(),
  produces: z.array(z.string()).optional(),
  context: StepContext.optional(),
  outputs: JsonObject.optional(),
  error: ErrorBody.optional(),
});
export type NodeView = z.infer<typeof NodeView>;

/** One task as the API shows it. */
export const TaskView = z.object({
  id: TaskId,
  workflow: z.string(),
  /** What it was found by, and the hash of the definition as it runs. */
  selector: z.string().optional(),
  definitionHash: z.string(),
  goal: z.string(),
  phase: TaskPhase,
  version: z.int(),
  repository: z.string().optional(),
  after: z.array(z.string()).optional(),
  requestedBy: z.string(),
  agent: AgentName.optional(),
  /** How the run as a whole ended, once it has. */
  outcome: Outcome.optional(),
  /** Nodes without a route for success: what `--after run:<id>` waits for. */
  sinks: z.array(NodeId),
  entries: z.array(NodeId),
  nodes: z.array(NodeView),
  /** The latest of them, oldest first. */
  checkpoints: z.array(Checkpoint).optional(),
  error: ErrorBody.optional(),
  /** What it has used, and how much it may use. */
  spent: Usage.optional(),
  budget: Budget.optional(),
  /** The circuit that it waits for. */
  circuit: z.string().optional(),
  /** Of a program: its state, as the last phase has left it, and the tasks that carry out its effects. */
  state: JsonObject.optional(),
  effects: z.array(TaskId).optional(),
});
export type TaskView = z.infer<typeof TaskView>;
