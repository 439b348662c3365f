import type { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import { statusWord } from '@holdpoint/contracts/task/document';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Checkpoint } from '@holdpoint/contracts/task/status';
import type { ApprovalId, CommandId, NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { decisionText } from '../model/earlier-attempts.ts';
import { NEW_NODE, countsOf } from './node-changes.ts';
import { REASON_MAX } from './node-ends.ts';
import { createNodes } from '../model/nodes.ts';
import { type NodeState, type Task, nodeState } from '../model/state.ts';

type Submitted = Extract<TaskEvent, { type: 'submitted' }>;

export const created = (event: Submitted): Task => {
  const states = event.definition.nodes.map(
    ({ id }): NodeState => ({ ...NEW_NODE, ...event.forkedFrom?.nodes[id] }) as NodeState,
  );
  return {
    id: event.id,
    version: 1,
    phase: event.phase,
    goal: event.goal,
    acceptanceCriteria: event.acceptanceCriteria,
    inputs: event.inputs,
    requestedBy: event.requestedBy,
    ...(event.agent !== undefined && { agent: event.agent }),
    ...(event.rollbackOf && { rollbackOf: event.rollbackOf }),
    ...(event.onBehalfOf && { onBehalfOf: event.onBehalfOf }),
    ...event.evidence,
    contentDigest: event.contentDigest,
    ...(event.gate && { gate: event.gate }),
    definition: event.definition,
    ...(event.workflow !== undefined && { workflow: event.workflow }),
    ...(event.repository !== undefined && { repository: event.repository }),
    peers: Object.fromEntries((event.after ?? []).map((peer) => [peer, null])),
    watchers: [],
    submittedAt: event.at ?? 0,
    pausedByHand: false,
    nodes: createNodes(states),
    counts: countsOf(states),
    pausedNodes: 0,
    reportSerial: 1,
  };
};

/** The view shows only the latest; the history has all. */
const CHECKPOINTS_KEPT = 50;

export const withCheckpoint = (task: Task, checkpoint: Checkpoint): Task => ({
  ...task,
  checkpoints: [...(task.checkpoints ?? []), checkpoint].slice(-CHECKPOINTS_KEPT),
});

type Decided = {
  readonly node: NodeId;
  readonly attempt: number;
  readonly approval: ApprovalId;
  readonly outcome: ApprovalOutcome;
  readonly by: string;
  readonly comment?: string | undefined;
  readonly payload?: JsonObject | undefined;
};

/** The event of the decision carries its checkpoint, so that the decision costs no further event. */
export const withDecided = (task: Task, decided: Decided, resumes: boolean): Task => {
  const { node, attempt, approval: id, outcome: status, by, comment } = decided;
  const { revision, gate } = nodeState(task, node);
  const key = gate?.effect.idempotencyKey;
  const reached: Task = {
    ...task,
    latestApproval: { id, node, attempt, status, by, ...(comment !== undefined && { note: comment }) },
  };
  return withCheckpoint(reached, {
    kind: resumes ? 'resume_granted' : 'resume_blocked',
    node,
    attempt,
    revision,
    reason: decisionText({ outcome: status, by, ...(comment !== undefined && { comment }) })
      .slice(0, REASON_MAX)
      .toWellFormed(),
    payload: decided.payload ?? {
      decision: statusWord(status),
      ...(key !== undefined && { idempotency_key: key }),
    },
    by,
  });
};

/** Identifies a checkpoint within its attempt. */
export const checkpointMark = ({
  kind,
  epoch,
  revision,
  name,
}: Pick<Checkpoint, 'kind' | 'epoch' | 'revision' | 'name'>): string => {
  const of = revision === undefined ? undefined : `r${String(revision)}`;
  return [kind, epoch, of, name].filter((part) => part !== undefined).join('.');
};

/** A repeat comes while its acknowledgement is missing, not after this many other commands. */
const COMMANDS_KEPT = 50;

export const rememberCommand = (task: Task, command: CommandId | undefined): Task => {
  const { commands = [] } = task;
  return command === undefined || commands.includes(command)
    ? task
    : { ...task, commands: [...commands, command].slice(-COMMANDS_KEPT) };
};
