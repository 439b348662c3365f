import type { Gate as GateTemplate } from '@holdpoint/contracts/workflow/gate';
import type { AttemptReport, Usage } from '@holdpoint/contracts/workflow/attempt';
import type { ArtifactState } from '@holdpoint/contracts/task/registry';
import type { InDoubtCause } from '@holdpoint/contracts/effect/in-doubt-cause';
import type { RollbackOrigin } from '@holdpoint/contracts/recovery/rollback-origin';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { ApprovalId, CommandId, EffectId, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { Payload, StepContext, StepResult } from '@holdpoint/contracts/task/step';
import type { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import type { GatePrompt, TaskEvent } from '@holdpoint/contracts/task/events';
import type { Checkpoint, NodeWait, TaskPhase } from '@holdpoint/contracts/task/status';
import type { LatestApproval } from '@holdpoint/contracts/task/views';
import type { OnBehalfOf, TaskEvidence } from '@holdpoint/contracts/workflow/review';
import type { NodeDefinition, Outcome, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { type Nodes, nodeAt } from './nodes.ts';
import { workflowIndex } from './workflow-index.ts';

/** A request for approval of a node's effect or start, and its decision. */
export type GateRequest = {
  readonly approval: ApprovalId;
  readonly effectId: EffectId;
  readonly effect: CanonicalEffect;
  readonly digest: string;
  readonly grant?: { readonly token: string; readonly validUntil: number };
  /** Title, body and audience from the gate template. */
  readonly asked?: GatePrompt;
  /** Reviews and artifact when the request opened. */
  readonly evidence?: TaskEvidence;
  /** A decision without a grant. */
  readonly closed?: GateDecision;
};

export type GateDecision = {
  readonly outcome: ApprovalOutcome;
  readonly by: string;
  readonly comment?: string;
};

export type EarlierAttempt = {
  readonly attempt: number;
  readonly outcome: string;
  readonly error: { readonly code: string; readonly message: string } | null;
};

/** The result of the same effect in an earlier attempt. */
export type AppliedEffect = {
  readonly effectId: EffectId;
  readonly result: Pick<StepResult, 'outputs' | 'context' | 'payloads' | 'detail' | 'exitCode'>;
};

/** Work between a verdict and the next attempt. */
export type RetryPreparation =
  /** A task of its own resets the worktree. */
  | {
      readonly kind: 'rollback';
      readonly by: TaskId;
      readonly inputs: JsonObject;
      readonly verdict: Verdict;
    }
  /** The worktree of the session is committed for the next one. */
  | { readonly kind: 'continue'; readonly verdict: Verdict };

/** The open request about a stuck job. */
export type StuckQuestion = {
  readonly approval: ApprovalId;
  readonly effectId: EffectId;
  readonly effect: CanonicalEffect;
  readonly digest: string;
};

/** The circuit that an order waits for. */
export type Deferral = { readonly target: string; readonly reason: string };

/** An ordered step without a result. */
export type StepOrder = { readonly step: string; readonly effect: CanonicalEffect; readonly digest: string };

export type NodeStatus =
  /** Undecided, or a dependency has not ended. */
  | 'idle'
  /** Activated, but something outside of the graph is missing. */
  | 'waiting'
  | 'awaiting_approval'
  /** Approved; ordered as soon as nothing else is missing. */
  | 'approved'
  /** Its locks are requested. */
  | 'locking'
  /** A step or the effect is ordered. */
  | 'running'
  /** An attempt failed, and a verdict is requested. */
  | 'recovering'
  /** Waits for the delay before the next attempt. */
  | 'retrying'
  /** A person must decide. */
  | 'escalated'
  | 'succeeded'
  | 'skipped'
  /** No route to it was taken. */
  | 'unreached'
  | 'failed'
  | 'blocked'
  | 'cancelled';

/** Requests and orders to be withdrawn. Timers resend the withdrawals until they are confirmed. */
export type Withdrawal = {
  readonly reason: string;
  readonly approval?: { readonly id: ApprovalId; readonly revision: number };
  /** Open questions about the effect, and why they need no answer. */
  readonly questions?: readonly {
    readonly id: ApprovalId;
    readonly revision: number;
    readonly reason: string;
  }[];
  readonly effects: readonly { readonly id: EffectId; readonly attempt: number }[];
  /** Rollback tasks. */
  readonly rollbacks?: readonly TaskId[];
};

/** An effect in doubt, the question about it, and the answer. */
export type InDoubtEffect = {
  readonly effectId: EffectId;
  readonly epoch: number;
  readonly reason?: string;
  readonly approval?: ApprovalId;
  readonly answered?: { readonly answer: InDoubtAnswer; readonly by: string; readonly statement: string };
};

/** The parts of a failed result that recovery uses. */
export type FailedStep = Pick<StepResult, 'exitCode' | 'hint' | 'report'>;

export type NodeState = {
  readonly status: NodeStatus;
  readonly attempt: number;
  /** Counts the requests for approval. Each revision needs its own decision. */
  readonly revision: number;
  readonly gate?: GateRequest;
  readonly outputs?: JsonObject;
  readonly failure?: {
    readonly outcome: 'failed' | 'in_doubt';
    readonly error: ErrorBody;
    /** Left out for a node with a single step. */
    readonly step?: string;
    /** With `in_doubt`. */
    readonly cause?: InDoubtCause;
    /** The result of a step that ran and failed. */
    readonly result?: FailedStep;
    /** Why operators decide about it. */
    readonly paused?: string;
  };
  readonly preparation?: RetryPreparation;
  /** The verdict that gave the job up. */
  readonly verdict?: Verdict;
  readonly stuck?: StuckQuestion;
  /** Counts the sessions of a job that hands off. */
  readonly session?: number;
  /** From its last attempt. */
  readonly report?: AttemptReport;
  readonly deferral?: Deferral;
  /** Counts the rollbacks of its effect: the effect after a rollback is another one. */
  readonly undone?: number;
  readonly inDoubt?: InDoubtEffect;
  /** Counts the in-doubt and stuck-job questions of all attempts. */
  readonly questions?: number;
  /** Marks of the checkpoints of this attempt, so that each is recorded once. */
  readonly marks?: readonly string[];
  readonly reason?: string;
  /** Only after an end without success. */
  readonly error?: ErrorBody;
  /** The effect was ordered at least once, so it may have been applied. */
  readonly ordered?: true;
  readonly withdrawn?: Withdrawal;
  readonly wait?: NodeWait;
  /** Paused by a person. */
  readonly paused?: true;
  readonly artifactStates?: readonly ArtifactState[];
  readonly inspected?: { readonly artifacts: Readonly<Record<string, boolean>>; readonly unmet?: string };
  /** Counts the repository inspections of this attempt. */
  readonly looks?: number;
  readonly preview?: JsonObject;
  readonly locks?: 'wanted' | 'held';
  /** The items of `for_each`. */
  readonly items?: readonly Json[];
  readonly orders?: Readonly<Record<string, StepOrder>>;
  /** The effect is ordered in this attempt under its grant, and has no outcome yet. */
  readonly underGrant?: true;
  /** Results of the ended steps of this attempt. */
  readonly done?: Readonly<Record<string, StepResult>>;
  readonly context?: StepContext;
  readonly payloads?: Readonly<Record<string, Payload>>;
  readonly detail?: string;
  readonly exitCode?: number;
  /** The previous failure, for the next attempt. */
  readonly hint?: string;
  /** The latest attempts, oldest first, when the gate loads them. */
  readonly earlier?: readonly EarlierAttempt[];
  /** The result of the same effect in an earlier attempt, when the gate may skip duplicates. */
  readonly appliedBefore?: AppliedEffect;
  /** Its latest attempt that succeeded before a route led back: a later attempt may not need it again. */
  readonly succeededBefore?: { readonly attempt: number; readonly detail?: string };
  /** Counts the rounds of its route back or retry rule. */
  readonly loops?: number;
};

export type Task = {
  readonly id: TaskId;
  readonly version: number;
  readonly phase: TaskPhase;
  readonly goal: string;
  readonly acceptanceCriteria: readonly string[];
  readonly inputs: JsonObject;
  readonly requestedBy: string;
  /** The agent that submitted the task for the requester. */
  readonly agent?: string;
  /** The verdict that this task carries out. */
  readonly rollbackOf?: RollbackOrigin;
  readonly contentDigest: string;
  readonly definition: WorkflowDefinition;
  /** The default gate for effects without their own. */
  readonly gate?: GateTemplate;
  readonly workflow?: string;
  readonly repository?: string;
  /** Jobs of other tasks that the entries wait for, with their outcomes. */
  readonly peers: Readonly<Record<string, Outcome | 'unknown' | null>>;
  /** Tasks that wait for this task or one of its nodes. */
  readonly watchers: readonly { readonly task: TaskId; readonly node?: NodeId }[];
  readonly submittedAt: number;
  readonly pausedByHand: boolean;
  /** The latest operator commands that changed something, to recognise repeats. */
  readonly commands?: readonly CommandId[];
  readonly nodes: Nodes;
  /** Number of nodes by status. */
  readonly counts: Readonly<Partial<Record<NodeStatus, number>>>;
  readonly pausedNodes: number;
  /** Number of running nodes whose orders are deferred. */
  readonly deferredNodes?: number;
  /** The circuit of the workflow: the task waits for it, or is its trial. */
  readonly circuit?: { readonly name: string; readonly state: 'waiting' | 'trial' };
  /** Usage of all attempts, and the number of budget extensions. */
  readonly spent?: Usage;
  readonly extensions?: number;
  /** Version of the last event that changed the task's artifacts. */
  readonly reportSerial: number;
  readonly outcome?: Outcome;
  readonly error?: ErrorBody;
  /** The latest, oldest first. */
  readonly checkpoints?: readonly Checkpoint[];
  readonly latestApproval?: LatestApproval;
  /** The running task that this one belongs to. */
  readonly onBehalfOf?: OnBehalfOf;
} & TaskEvidence;

/** A change of a task: an event without its id and phase. */
export type TaskChange = TaskEvent extends infer E
  ? E extends TaskEvent
    ? Omit<E, 'phase' | 'id'>
    : never
  : never;

/** No task. A tombstone refuses the submission: the task was cancelled before it arrived. */
export type Absent = { readonly phase: 'absent'; readonly tombstone?: true };

export type TaskState = Absent | Task;

export const absent: Absent = { phase: 'absent' };

/** Undefined for an unknown node: messages may name any. */
export const findNode = (task: Task, node: NodeId): NodeState | undefined => {
  const position = workflowIndex(task.definition).graph.position.get(node);
  return position === undefined ? undefined : nodeAt(task.nodes, position);
};

export const nodeState = (task: Task, node: NodeId): NodeState => {
  const state = findNode(task, node);
  if (state === undefined) throw new Error(`task ${task.id} has no node ${node}`);
  return state;
};

export const nodeDefinition = (task: Task, node: NodeId): NodeDefinition => {
  const definition = workflowIndex(task.definition).graph.nodes.get(node);
  if (definition === undefined) throw new Error(`workflow ${task.definition.id} has no node ${node}`);
  return definition;
};

/** The unanswered question about the effect or the job. */
export const openQuestion = ({
  inDoubt,
  stuck,
}: Pick<NodeState, 'inDoubt' | 'stuck'>): ApprovalId | undefined =>
  stuck?.approval ?? (inDoubt?.answered === undefined ? inDoubt?.approval : undefined);

/** A job without an approval request uses revision 1. */
export const questionRevision = ({ revision }: Pick<NodeState, 'revision'>): number => Math.max(1, revision);

const ENDED: ReadonlySet<NodeStatus> = new Set([
  'succeeded',
  'skipped',
  'unreached',
  'failed',
  'blocked',
  'cancelled',
]);

/** No further change in this attempt. */
export const hasEnded = ({ status }: NodeState): boolean => ENDED.has(status);

/** The outcome that dependents see. Undefined for an open or unreached node. */
export const outcomeOf = ({ status }: NodeState): Outcome | undefined => {
  switch (status) {
    case 'succeeded':
    case 'skipped':
      return 'succeeded';
    case 'failed':
    case 'blocked':
    case 'cancelled':
      return status;
    default:
      return undefined;
  }
};

/** The outcome that other tasks see: an unreached node will not succeed. */
export const endOf = (state: NodeState): Outcome | undefined =>
  state.status === 'unreached' ? 'blocked' : outcomeOf(state);

export const countOf = (task: Task, ...statuses: readonly NodeStatus[]): number =>
  statuses.reduce((sum, status) => sum + (task.counts[status] ?? 0), 0);
