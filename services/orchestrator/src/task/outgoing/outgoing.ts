import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import { type Aggregate, subjects } from '@holdpoint/contracts/bus/subjects';
import type { Notification } from '@holdpoint/contracts/task/registry';
import type { ApprovalId, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { type GateRequest, type InDoubtEffect, nodeState, type Task } from '../model/state.ts';

export const replyTimer = (node: NodeId): string => `reply:${node}`;
export const retryTimer = (node: NodeId): string => `retry:${node}`;
export const lookTimer = (node: NodeId): string => `look:${node}`;
export const withdrawTimer = (node: NodeId, of: string): string => `withdraw:${node}:${of}`;
export const REPORT_TIMER = 'report';
export const CIRCUIT_TIMER = 'circuit';
export const PEERS_TIMER = 'peers';

export const command = (
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

export const gateOf = (task: Task, node: NodeId): GateRequest => {
  const { gate } = nodeState(task, node);
  if (gate === undefined) throw new Error(`node ${node} of ${task.id} has no gate`);
  return gate;
};

/** Every request carries the requester of the task. */
export const requesterOf = ({ requestedBy, agent }: Task) => ({
  requestedBy,
  ...(agent !== undefined && { agent }),
});

export const inDoubtOf = (task: Task, node: NodeId): InDoubtEffect & { readonly approval: ApprovalId } => {
  const { inDoubt } = nodeState(task, node);
  if (inDoubt?.approval === undefined)
    throw new Error(`node ${node} of ${task.id} has no open in-doubt question`);
  return { ...inDoubt, approval: inDoubt.approval };
};

export const watchPeer = (task: Task, peer: string, resends: number | string): Outgoing => {
  const [id = peer, node] = peer.split('/');
  const data = { id, watcher: task.id, ...(node !== undefined && { node }) };
  const key = `${task.id}.${peer}.${String(resends)}`;
  return command('task', 'watch', subjects.taskCommand('watch'), key, data);
};

/** `key` must differ for each new notification. */
export const notifyTask = (id: TaskId, key: string, notification: Notification): Outgoing =>
  command('task', 'notify', subjects.taskCommand('notify'), `${id}.${key}`, { id, notification });
