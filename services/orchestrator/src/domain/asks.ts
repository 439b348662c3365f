import { type Aggregate, subjects } from '@holdpoint/contracts/subjects';
import { eventType } from '@holdpoint/contracts/cloudevents';
import type { NodeId } from '@holdpoint/contracts/ids';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { type Gate, nodeDefinition, nodeState, type Task } from './state.ts';

/**
 * The bus may lose any command: whoever waits for an answer asks again, at first after this, then ever more rarely.
 * Thousands of tasks may wait for people at the same time, and each of them asks: so it must not be often.
 */
const FIRST_REPEAT_MS = 20_000;
const REPEAT_FACTOR = 3;
const LAST_REPEAT_MS = 300_000;

export const repeatDelayMs = (ask: number): number =>
  Math.min(FIRST_REPEAT_MS * REPEAT_FACTOR ** (ask - 1), LAST_REPEAT_MS);

export const replyTimer = (node: NodeId): string => `reply:${node}`;
export const retryTimer = (node: NodeId): string => `retry:${node}`;
export const withdrawTimer = (node: NodeId): string => `withdraw:${node}`;

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

/** Enough to recognise it by. A character that the cut would halve is replaced: no store takes half of one. */
const startOf = (text: string): string => text.slice(0, 200).toWellFormed();

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
    title: `${startOf(task.goal)}: ${effect.uses} on ${startOf(effect.target)}`,
    requestedBy: task.requestedBy,
    audience: declared.audience,
    timeoutMs: declared.approvalTimeoutMs,
  });
};

/** Orders the executor to carry out the approved effect. */
export const orderEffect = (task: Task, node: NodeId, ask: number): Outgoing => {
  const { effectId, effect, digest, grant } = gateOf(task, node);
  if (grant === undefined) throw new Error(`node ${node} of ${task.id} has no grant`);
  const { attempt, revision } = nodeState(task, node);
  const pool = nodeDefinition(task, node).effect?.pool ?? 'default';
  return command(
    'effect',
    'run',
    subjects.effectCommand('run', pool),
    // The same attempt is ordered anew, with another grant, when the first one had run out: the revision tells them apart.
    `${effectId}.${String(revision)}.${String(attempt)}.${String(ask)}`,
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

/** Takes back what was asked for. Undefined when there is nothing to take back. */
export const askToWithdraw = (task: Task, node: NodeId, ask: number): Outgoing | undefined => {
  const { withdrawn, attempt, revision } = nodeState(task, node);
  if (withdrawn === undefined) return undefined;
  const { approval, effectId } = gateOf(task, node);
  const { of, reason } = withdrawn;
  const about = { task: task.id, node };
  if (of === 'approval') {
    const subject = subjects.approvalCommand('cancel');
    const data = { id: approval, ...about, revision, reason };
    return command('approval', 'cancel', subject, `${approval}.${String(ask)}`, data);
  }
  const pool = nodeDefinition(task, node).effect?.pool ?? 'default';
  const subject = subjects.effectCommand('cancel', pool);
  const data = { id: effectId, ...about, attempt, reason };
  return command('effect', 'cancel', subject, `${effectId}.${String(ask)}`, data);
};
