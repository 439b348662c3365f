import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { AcquireCircuit } from '@holdpoint/contracts/recovery/circuit';
import type { MarkJobUnstuck } from '@holdpoint/contracts/recovery/commands';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { jobOf, type NodeId, type TaskId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { nodeState, type Task } from '../model/state.ts';
import { assessmentOf, attemptRecord, heldWorktree } from './evidence.ts';
import { command, requesterOf, watchPeer } from './outgoing.ts';

/** Requests a verdict about the failed attempt. */
export const assessFailure = (task: Task, node: NodeId, resends: number): Outgoing => {
  const failure = assessmentOf(task, node);
  const { refused, paused } = failure;
  const why = [...(paused === undefined ? [] : ['paused']), ...(refused === undefined ? [] : ['refused'])];
  const asked = [...why, String(resends)].join('.');
  const key = `${task.id}.${node}.${String(failure.attempt)}.${asked}`;
  return command('recovery', 'assess', subjects.recoveryCommand('assess'), key, failure);
};

/** Reports a successful attempt, when recovery uses it. */
export const recordAttempt = (task: Task, node: NodeId): readonly Outgoing[] => {
  const made = attemptRecord(task, node);
  if (made === undefined) return [];
  const key = `${task.id}.${node}.${String(made.attempt)}`;
  return [command('recovery', 'record_attempt', subjects.recoveryCommand('record_attempt'), key, made)];
};

export const reportUnstuck = (job: MarkJobUnstuck, now: number): Outgoing => {
  const key = `${job.task}.${job.node}.${String(job.attempt)}.${job.resolution}.${String(now)}`;
  return command('recovery', 'job_unstuck', subjects.recoveryCommand('job_unstuck'), key, job);
};

/** The outcome of a circuit trial. An abandoned trial says nothing about the workflow. */
export type Trial = 'succeeded' | 'failed' | 'abandoned';

/** Asks recovery whether the task may start, or reports the outcome of its trial. */
export const acquireCircuit = (task: Task, target: string, now: number, trial?: Trial): Outgoing => {
  const circuit = task.definition.recovery?.circuit;
  const ended = trial !== undefined &&
    trial !== 'abandoned' && { outcome: trial, ...(circuit && { circuit }) };
  const data: AcquireCircuit = {
    target,
    task: task.id,
    ...(trial === 'abandoned' ? { abandoned: true } : ended),
  };
  // The time makes the id unique, because the same report may be needed again.
  const key = trial === undefined ? String(now) : `${trial}.${String(now)}`;
  return command(
    'recovery',
    'circuit_acquire',
    subjects.recoveryCommand('circuit_acquire'),
    `${task.id}.${key}`,
    data,
  );
};

export const submitRollback = (
  task: Task,
  node: NodeId,
  by: TaskId,
  inputs: JsonObject,
  resends: number,
): Outgoing => {
  const worktree = heldWorktree(task, node);
  const { attempt } = nodeState(task, node);
  return command('task', 'submit', subjects.taskCommand('submit'), `${by}.${String(resends)}`, {
    id: by,
    workflow: 'rollback',
    goal: `Take ${jobOf(task.id, node)} back to its last passed check`,
    inputs,
    ...(task.repository !== undefined && { repository: task.repository }),
    ...(worktree !== undefined && { rollbackOf: { task: task.id, node, attempt, worktree } }),
    ...requesterOf(task),
  } satisfies SubmitTask);
};

/** The cancellation leaves a tombstone when the submission was lost or overtaken, so the watch always has an answer. */
export const cancelRollback = (
  task: Task,
  node: NodeId,
  by: TaskId,
  resends: number,
): readonly Outgoing[] => [
  command('task', 'cancel', subjects.taskCommand('cancel'), `${by}.${String(resends)}`, {
    id: by,
    by: task.id,
    reason: `${jobOf(task.id, node)} continues without it`,
    ifOpen: true,
  }),
  watchPeer(task, by, `over.${String(resends)}`),
];
