import type { Gate as GateTemplate } from '@holdpoint/contracts/workflow/gate';
import type { AttemptReport, Usage } from '@holdpoint/contracts/workflow/attempt';
import type { ArtifactState } from '@holdpoint/contracts/task/registry';
import type { InDoubtCause } from '@holdpoint/contracts/effect/in-doubt-cause';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { ApprovalId, CommandId, EffectId, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { Payload, StepContext, StepResult } from '@holdpoint/contracts/task/step';
import type { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import type { GatePrompt } from '@holdpoint/contracts/task/events';
import type { Checkpoint, NodeWait, TaskPhase } from '@holdpoint/contracts/task/status';
import type { NodeDefinition, Outcome, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { type Nodes, nodeAt } from './nodes.ts';
import { workflowIndex } from './workflow-index.ts';

/** A request for approval of a node's effect, or of its start: what was asked, and what came of it. */
export type GateRequest = {
  readonly approval: ApprovalId;
  readonly effectId: EffectId;
  readonly effect: CanonicalEffect;
  readonly digest: string;
  readonly grant?: { readonly token: string; readonly validUntil: number };
  /** What its gate template made of the question. */
  readonly asked?: GatePrompt;
  /** Decided, and not by a grant. */
  readonly closed?: GateDecision;
};

/** What was said of a request, and by whom. */
export type GateDecision = {
  readonly outcome: ApprovalOutcome;
  readonly by: string;
  readonly comment?: string;
};

/** An attempt that another one has followed. */
export type EarlierAttempt = {
  readonly attempt: number;
  readonly outcome: string;
  readonly error: { readonly code: string; readonly message: string } | null;
};

/** What an effect has come to before its node started anew. */
export type AppliedEffect = {
  readonly effectId: EffectId;
  readonly result: Pick<StepResult, 'outputs' | 'context' | 'payloads' | 'detail' | 'exitCode'>;
};

/** What recovery lets happen to a node before it is tried again. */
export type RetryPreparation =
  /** A task of its own takes the worktree back. */
  | {
      readonly kind: 'rollback';
      readonly by: TaskId;
      readonly inputs: JsonObject;
      readonly verdict: Verdict;
    }
  /** What a session leaves to the next is put by. */
  | { readonly kind: 'continue'; readonly verdict: Verdict };

/** People are asked what is to become of a job that is stuck. */
export type StuckQuestion = {
  readonly approval: ApprovalId;
  readonly effectId: EffectId;
  readonly effect: CanonicalEffect;
  readonly digest: string;
};

/** What an order waits for that may not begin. */
export type Deferral = { readonly target: string; readonly reason: string };

/** A step that is ordered from an executor and has no result yet. */
export type StepOrder = { readonly step: string; readonly effect: CanonicalEffect; readonly digest: string };

export type NodeStatus =
  /** Nothing has been decided about it yet, or what it depends on has not ended. */
  | 'idle'
  /** Its turn has come in the graph; something outside of it is missing. */
  | 'waiting'
  | 'awaiting_approval'
  /** Approved; it is ordered as soon as nothing else stands in the way. */
  | 'approved'
  /** It has asked for its locks. */
  | 'locking'
  /** A step, or the effect itself, is ordered. */
  | 'running'
  /** An attempt failed, and recovery has been asked. */
  | 'recovering'
  /** Another attempt was granted, and waits for its delay. */
  | 'retrying'
  /** A person has to decide. */
  | 'escalated'
  | 'succeeded'
  | 'skipped'
  /** The route to it was not taken. */
  | 'unreached'
  | 'failed'
  | 'blocked'
  | 'cancelled';

/** What was asked of others and is not wanted any more. Whether that is confirmed is left to the timers that ask again. */
export type Withdrawal = {
  readonly reason: string;
  readonly approval?: { readonly id: ApprovalId; readonly revision: number };
  /** What people were asked of its effect, and why nobody need answer. */
  readonly questions?: readonly {
    readonly id: ApprovalId;
    readonly revision: number;
    readonly reason: string;
  }[];
  readonly effects: readonly { readonly id: EffectId; readonly attempt: number }[];
  /** Tasks that were to take its worktree back. */
  readonly rollbacks?: readonly TaskId[];
};

/** Nobody knows what became of its effect: what people are asked about it, and what they have said. */
export type InDoubtEffect = {
  readonly effectId: EffectId;
  readonly epoch: number;
  readonly reason?: string;
  readonly approval?: ApprovalId;
  readonly answered?: { readonly answer: InDoubtAnswer; readonly by: string; readonly statement: string };
};

/** Of a step that was carried out and has failed: what recovery goes by. */
export type FailedStep = Pick<StepResult, 'exitCode' | 'hint' | 'report'>;

export type NodeState = {
  readonly status: NodeStatus;
  readonly attempt: number;
  /** Counts the requests for approval; an effect asked for anew needs a decision of its own. */
  readonly revision: number;
  readonly gate?: GateRequest;
  readonly outputs?: JsonObject;
  readonly failure?: {
    readonly outcome: 'failed' | 'in_doubt';
    readonly error: ErrorBody;
    /** Which step it was of; of a node that is a single one it says nothing. */
    readonly step?: string;
    /** With `in_doubt`: what left it so. */
    readonly cause?: InDoubtCause;
    /** What it came to, when it was carried out and that is what failed. */
    readonly result?: FailedStep;
  };
  readonly preparation?: RetryPreparation;
  /** Recovery has given it up: what it said, for whoever decides. */
  readonly verdict?: Verdict;
  readonly stuck?: StuckQuestion;
  /** Counts the sessions of a job that goes on in new ones. */
  readonly session?: number;
  /** What its last attempt said of itself. */
  readonly report?: AttemptReport;
  readonly deferral?: Deferral;
  /** How often its effect was taken back: what is done after that is another effect. */
  readonly undone?: number;
  readonly inDoubt?: InDoubtEffect;
  /** How many questions about doubts it has put, in all of its attempts. */
  readonly questions?: number;
  /** Checkpoints of this attempt, so that each is recorded once. */
  readonly marks?: readonly string[];
  readonly reason?: string;
  /** Why it ended without success. */
  readonly error?: ErrorBody;
  /** It was ordered at least once, under whatever grant: from then on it may have happened. */
  readonly ordered?: true;
  readonly withdrawn?: Withdrawal;
  readonly wait?: NodeWait;
  /** A person keeps it from starting. */
  readonly paused?: true;
  readonly artifactStates?: readonly ArtifactState[];
  readonly inspected?: { readonly artifacts: Readonly<Record<string, boolean>>; readonly unmet?: string };
  /** How often the repository was looked into in this attempt. */
  readonly looks?: number;
  readonly preview?: JsonObject;
  readonly locks?: 'wanted' | 'held';
  /** What it is repeated for. */
  readonly items?: readonly Json[];
  readonly orders?: Readonly<Record<string, StepOrder>>;
  /** Its effect is ordered in this attempt, by its grant, and has no outcome yet. */
  readonly underGrant?: true;
  /** Steps of this attempt that have ended. */
  readonly done?: Readonly<Record<string, StepResult>>;
  readonly context?: StepContext;
  readonly payloads?: Readonly<Record<string, Payload>>;
  readonly detail?: string;
  readonly exitCode?: number;
  /** What failed before, for whoever tries again. */
  readonly hint?: string;
  /** The latest attempts before this one, oldest first, where a gate looks at them. */
  readonly earlier?: readonly EarlierAttempt[];
  /** The same effect is not done twice: what is known of it where a gate asks. */
  readonly appliedBefore?: AppliedEffect;
  /** How often a route or a rule of its own has led back from it. */
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
  /** The agent that has submitted it for him. */
  readonly agent?: string;
  readonly contentDigest: string;
  readonly definition: WorkflowDefinition;
  /** Of effects that have none of their own. */
  readonly gate?: GateTemplate;
  readonly workflow?: string;
  readonly repository?: string;
  /** Jobs of other tasks that the entries wait for, and how they ended. */
  readonly peers: Readonly<Record<string, Outcome | 'unknown' | null>>;
  /** Tasks that wait for this one, or for one of its nodes. */
  readonly watchers: readonly { readonly task: TaskId; readonly node?: NodeId }[];
  readonly submittedAt: number;
  readonly pausedByHand: boolean;
  /** The latest commands by hand that changed something: the same one, come again, changes nothing more. */
  readonly commands?: readonly CommandId[];
  readonly nodes: Nodes;
  /** How many nodes have each status. */
  readonly counts: Readonly<Partial<Record<NodeStatus, number>>>;
  readonly pausedNodes: number;
  /** How many nodes run whose orders may not begin, because what they talk to fails. */
  readonly deferredNodes?: number;
  /** The circuit of its workflow: it waits for that, or tries it. */
  readonly circuit?: { readonly name: string; readonly state: 'waiting' | 'trial' };
  /** What its attempts have used, and how often its budget was extended. */
  readonly spent?: Usage;
  readonly extensions?: number;
  /** Version of the last event that changed what other tasks may want to know. */
  readonly reportSerial: number;
  readonly outcome?: Outcome;
  readonly error?: ErrorBody;
  /** The latest of them, oldest first. */
  readonly checkpoints?: readonly Checkpoint[];
};

/** No task. A tombstone says that it was cancelled before its submission arrived, which is refused from then on. */
export type Absent = { readonly phase: 'absent'; readonly tombstone?: true };

export type TaskState = Absent | Task;

export const absent: Absent = { phase: 'absent' };

/** Undefined for a node that the task does not have: messages may name any. */
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

/** What people are asked about its effect, or about the job itself, while nobody has answered. */
export const openQuestion = ({
  inDoubt,
  stuck,
}: Pick<NodeState, 'inDoubt' | 'stuck'>): ApprovalId | undefined =>
  stuck?.approval ?? (inDoubt?.answered === undefined ? inDoubt?.approval : undefined);

/** A question about a job that has never asked for approval is of the first revision all the same. */
export const questionRevision = ({ revision }: Pick<NodeState, 'revision'>): number => Math.max(1, revision);

const ENDED: ReadonlySet<NodeStatus> = new Set([
  'succeeded',
  'skipped',
  'unreached',
  'failed',
  'blocked',
  'cancelled',
]);

/** Nothing more comes of this attempt. */
export const hasEnded = ({ status }: NodeState): boolean => ENDED.has(status);

/** How an ended node counts for what follows it; undefined while it has not ended, or was never reached. */
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

/** For who waits for it from outside: a node that was never reached will not succeed. */
export const endOf = (state: NodeState): Outcome | undefined =>
  state.status === 'unreached' ? 'blocked' : outcomeOf(state);

export const countOf = (task: Task, ...statuses: readonly NodeStatus[]): number =>
  statuses.reduce((sum, status) => sum + (task.counts[status] ?? 0), 0);
