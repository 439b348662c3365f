import { type Aggregate, subjects } from '@holdpoint/contracts/subjects';
import { eventType } from '@holdpoint/contracts/cloudevents';
import type { NodeId } from '@holdpoint/contracts/ids';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { type Gate, nodeDefinition, nodeState, type Task } from './state.ts';

/** The bus may lose any command: whoever waits for an answer asks again, at first after this, then ever more rarely. */
const FIRST_REPEAT_MS = 5_000;
const LAST_REPEAT_MS = 300_000;

export const repeatDelayMs = (ask: number): number =>
  Math.min(FIRST_REPEAT_MS * 2 ** (ask - 1), LAST_REPEAT_MS);

export const replyTimer = (node: NodeId): string => `reply:${node}`;
export const retryTimer = (node: NodeId): string => `retry:${node}`;

const command = (
  aggregate: Aggregate,
  name: string,
  subject: Outgoing['subject'],
  key: string,
  data: object,
): Outgoing => ({
  subject,
  id: `${aggregate}.${name}.${key}`,
  type: eventType(aggregate, name),
  data,
});

const gateOf = (task: Task, node: NodeId): Gate => {
  const { gate } = nodeState(task, node);
  if (gate === undefined) throw new Error(`node ${node} of ${task.id} has no gate`);
  return gate;
};

/** Asks the approvals service for a decision. `ask` counts the repeats of the same question. */
export const askApproval = (task: Task, node: NodeId, ask: number): Outgoing => {
  const { approval, effectId, effect, digest } = gateOf(task, node);
  const { effect: declared } = nodeDefinition(task, node);
  if (declared === undefined) throw new Error(`node ${node} of ${task.id} is no effect`);
  return command('approval', 'request', subjects.approvalCommand('request'), `${approval}.${String(ask)}`, {
    id: approval,
    task: task.id,
    node,
    revision: nodeState(task, node).revision,
    effectId,
    effect,
    digest,
    title: `${task.goal.slice(0, 200)}: ${effect.uses} on ${effect.target.slice(0, 200)}`,
    requestedBy: task.requestedBy,
    audience: declared.audience,
    timeoutMs: declared.approvalTimeoutMs,
  });
};

/** Orders the executor to carry out the approved effect. */
export const orderEffect = (task: Task, node: NodeId, ask: number): Outgoing => {
  const { effectId, effect, digest, grant } = gateOf(task, node);
  if (grant === undefined) throw new Error(`node ${node} of ${task.id} has no grant`);
  const { attempt } = nodeState(task, node);
  const pool = nodeDefinition(task, node).effect?.pool ?? 'default';
  return command(
    'effect',
    'run',
    subjects.effectCommand('run', pool),
    `${effectId}.${String(attempt)}.${String(ask)}`,
    {
      id: effectId,
      attempt,
      effect,
      digest,
      grant: grant.token,
    },
  );
};

/** Asks the recovery service what to do about the attempt that failed. */
export const askRecovery = (task: Task, node: NodeId, ask: number): Outgoing => {
  const { attempt, failure, gate } = nodeState(task, node);
  if (failure === undefined) throw new Error(`node ${node} of ${task.id} has not failed`);
  const key = `${task.id}.${node}.${String(attempt)}.${String(ask)}`;
  return command('recovery', 'assess', subjects.recoveryCommand('assess'), key, {
    task: task.id,
    node,
    attempt,
    ...failure,
    ...(gate && { effectClass: gate.effect.effectClass }),
  });
};

export const cancelApproval = (task: Task, node: NodeId, reason: string): Outgoing => {
  const { approval } = gateOf(task, node);
  return command('approval', 'cancel', subjects.approvalCommand('cancel'), approval, {
    id: approval,
    reason,
  });
};

export const cancelEffect = (task: Task, node: NodeId, reason: string): Outgoing => {
  const { effectId } = gateOf(task, node);
  const pool = nodeDefinition(task, node).effect?.pool ?? 'default';
  return command('effect', 'cancel', subjects.effectCommand('cancel', pool), effectId, {
    id: effectId,
    task: task.id,
    node,
    attempt: nodeState(task, node).attempt,
    reason,
  });
};
