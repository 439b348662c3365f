import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { RegistryCommand } from '@holdpoint/contracts/task/registry';
import { type NodeId, repositoryIdOf } from '@holdpoint/contracts/values/ids';
import { digestOf } from '@holdpoint/contracts/values/json';
import type { Lock } from '@holdpoint/contracts/workflow/workflow';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { outsideNeeds } from '../model/artifact-status.ts';
import { nodeDefinition, nodeState, type Task } from '../model/state.ts';
import { artifactReport } from './artifact-report.ts';
import { command } from './outgoing.ts';

const registryCommand = (task: Task, key: string, request: RegistryCommand['request']): Outgoing => {
  const id = repositoryIdOf(task.repository ?? '');
  const subject = subjects.taskCommand('registry');
  return command('task', 'registry', subject, `${task.id}.${request.kind}.${key}`, { id, request });
};

const jobIn = (task: Task, node: NodeId) => ({ task: task.id, node, attempt: nodeState(task, node).attempt });
const attemptKey = (task: Task, node: NodeId, resends: number): string =>
  `${node}.${String(nodeState(task, node).attempt)}.${String(resends)}`;

export const acquireLocks = (task: Task, node: NodeId, resends: number): Outgoing => {
  const locks: Lock[] = [...(nodeDefinition(task, node).locks ?? [])];
  return registryCommand(task, attemptKey(task, node, resends), {
    kind: 'acquire',
    ...jobIn(task, node),
    locks,
    since: task.submittedAt,
  });
};

/** Not resent: the registry reminds the holder, which then releases again. */
export const releaseLocks = (task: Task, node: NodeId, attempt: number, now: number): Outgoing =>
  registryCommand(task, `${node}.${String(attempt)}.${String(now)}`, {
    kind: 'release',
    task: task.id,
    node,
    attempt,
  });

export const requireArtifacts = (task: Task, node: NodeId, resends: number): Outgoing => {
  const labels = [...outsideNeeds(task, node)];
  // A second inspection in the same attempt is a new query, and so is a changed list of needs.
  const looks = String(nodeState(task, node).looks ?? 0);
  const key = `${attemptKey(task, node, resends)}.${looks}.${digestOf(labels).slice(0, 16)}`;
  return registryCommand(task, key, { kind: 'require', ...jobIn(task, node), labels });
};

export const reportArtifacts = (task: Task, resends: number): Outgoing =>
  registryCommand(task, `${String(task.reportSerial)}.${String(resends)}`, {
    kind: 'report',
    task: task.id,
    serial: task.reportSerial,
    artifacts: [...artifactReport(task)],
  });
