import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { shownCriteria, shownGoal } from '@holdpoint/contracts/approval/facts-text';
import type { Notification } from '@holdpoint/contracts/task/registry';
import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import type { ApprovalId, TaskId } from '@holdpoint/contracts/values/ids';
import type { WorkInput, WorkOrder } from '@holdpoint/contracts/program/work';
import { type Aggregate, subjects } from '@holdpoint/contracts/bus/subjects';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { bytesOf } from './size-limits.ts';
import type { OpenQuestion, Program } from './state.ts';

export const LEASE_TIMER = 'lease';
export const ORDER_TIMER = 'order';
export const QUESTION_TIMER = 'question';
export const RETRY_TIMER = 'retry';
/** Until the end of the effect's task is known. */
export const effectTimer = (task: TaskId): string => `effect:${task}`;
export const sleepTimer = (key: string): string => `sleep:${key}`;
/** Until the withdrawal is confirmed. */
export const withdrawTimer = (id: string): string => `withdraw:${id}`;

const command = (aggregate: Aggregate, name: string, key: string, data: object): Outgoing => ({
  subject: aggregate === 'approval' ? subjects.approvalCommand(name) : subjects.taskCommand(name),
  id: `${aggregate}.${name}.${key}`,
  type: eventType(aggregate, name),
  data,
});

/** A larger input is left out of the order; the worker requests it. */
const GIVEN_MAX_BYTES = 256 * 1_024;

/** `resends` counts the repeats of the same order. */
export const orderWork = (task: Program, given: WorkInput, resends: number): Outgoing => {
  const { id, node, visit, attempt, lease, hash, program, activation } = task;
  const fits = bytesOf(given) <= GIVEN_MAX_BYTES;
  const data: WorkOrder = {
    task: id,
    node,
    visit,
    attempt,
    lease,
    program: { id: program.id, version: program.version, hash },
    activation,
    ...(fits && { input: given }),
  };
  return {
    subject: subjects.work(hash),
    id: `work.${id}.${String(lease)}.${String(resends)}`,
    type: eventType('task', 'work'),
    data,
  };
};

/** A repeated submission finds the same task. */
export const submitEffect = (submission: SubmitTask & { readonly id: TaskId }, resends: number): Outgoing =>
  command('task', 'submit', `${submission.id}.${String(resends)}`, submission);

export const watchEffect = (task: TaskId, watcher: TaskId, resends: number): Outgoing =>
  command('task', 'watch', `${watcher}.${task}.${String(resends)}`, { id: task, watcher });

export const cancelEffect = (task: Program, effect: TaskId, reason: string, resends: number): Outgoing =>
  command('task', 'cancel', `${effect}.${String(task.version)}.${String(resends)}`, {
    id: effect,
    by: task.id,
    reason: reason.slice(0, 1_000).toWellFormed(),
    ifOpen: true,
  });

export const requestAnswer = (
  task: Program,
  { approval: id, effectId, effect, digest, asks }: OpenQuestion,
  resends: number,
): Outgoing => {
  const criteria = shownCriteria(task.acceptanceCriteria);
  const request: RequestApproval = {
    id,
    task: task.id,
    node: task.node,
    revision: task.questions,
    effectId,
    effect,
    digest,
    title: asks.title,
    requestedBy: task.requestedBy,
    ...(task.agent !== undefined && { agent: task.agent }),
    audience: asks.audience ?? ['operators'],
    timeoutMs: asks.timeoutMs ?? DECISION_MS,
    input: asks.input,
    ...(asks.body !== undefined && asks.body !== '' && { body: asks.body }),
    facts: {
      goal: shownGoal(task.goal),
      ...(criteria && { acceptanceCriteria: criteria }),
      phase: task.node,
      attempt: task.attempt,
      ...(task.reviews && { reviews: task.reviews }),
      ...(task.artifact && { artifact: task.artifact }),
    },
    workflow: task.program.id,
  };
  return command('approval', 'request', `${id}.${String(resends)}`, request);
};

export const withdrawQuestion = (
  task: Program,
  id: ApprovalId,
  revision: number,
  reason: string,
  resends: number,
): Outgoing =>
  command('approval', 'cancel', `${id}.${String(resends)}`, {
    id,
    task: task.id,
    node: task.node,
    revision,
    reason: reason.slice(0, 1_000).toWellFormed(),
  });

/** Notifies another task of the end of this one. */
export const notifyWatcher = (
  { id, outcome, version }: Pick<Program, 'id' | 'outcome' | 'version'>,
  watcher: TaskId,
  now: number,
): Outgoing | undefined => {
  if (outcome === undefined) return undefined;
  const notification: Notification = { kind: 'peer', task: watcher, peer: id, outcome };
  const key = `${watcher}.peer.${id}.${outcome}.${String(version)}.${String(now)}`;
  return command('task', 'notify', key, { id: watcher, notification });
};
