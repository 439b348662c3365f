import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import type { RegistryCommand, Notification } from '@holdpoint/contracts/task/registry';
import type { AcquireCircuit } from '@holdpoint/contracts/recovery/circuit';
import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import {
  type ApprovalId,
  type EffectId,
  jobOf,
  type NodeId,
  repositoryIdOf,
  type TaskId,
} from '@holdpoint/contracts/values/ids';
import { digestOf, type JsonObject } from '@holdpoint/contracts/values/json';
import type { MarkJobUnstuck } from '@holdpoint/contracts/recovery/commands';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { type Aggregate, subjects } from '@holdpoint/contracts/bus/subjects';
import { type EffectDeclaration, type Lock, WAIT_MAX_MS } from '@holdpoint/contracts/workflow/workflow';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { requestFacts } from '../evidence/request-facts.ts';
import { budgetRequestIn } from '../model/budget.ts';
import { TITLE_MAX } from './gate-request.ts';
import { effectGate } from '../model/effect-gate.ts';
import { assessmentOf, attemptRecord, heldWorktree } from './evidence.ts';
import { outsideNeeds } from '../model/artifact-status.ts';
import { artifactReport } from './artifact-report.ts';
import {
  type InDoubtEffect,
  type GateRequest,
  nodeDefinition,
  nodeState,
  questionRevision,
  type Task,
} from '../model/state.ts';

export const replyTimer = (node: NodeId): string => `reply:${node}`;
export const retryTimer = (node: NodeId): string => `retry:${node}`;
export const lookTimer = (node: NodeId): string => `look:${node}`;
export const withdrawTimer = (node: NodeId, of: string): string => `withdraw:${node}:${of}`;
export const REPORT_TIMER = 'report';
export const CIRCUIT_TIMER = 'circuit';
export const PEERS_TIMER = 'peers';

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

const gateOf = (task: Task, node: NodeId): GateRequest => {
  const { gate } = nodeState(task, node);
  if (gate === undefined) throw new Error(`node ${node} of ${task.id} has no gate`);
  return gate;
};

/** The cut may halve a character, and the store rejects half of one. */
const beginningOf = (text: string): string => text.slice(0, 200).toWellFormed();

/** The parts of a request that differ by question. */
type Question = Pick<
  RequestApproval,
  'id' | 'title' | 'audience' | 'timeoutMs' | 'inDoubt' | 'body' | 'policy' | 'gate'
>;

/** Every request carries the requester of the task. */
const requesterOf = ({ requestedBy, agent }: Task) => ({
  requestedBy,
  ...(agent !== undefined && { agent }),
});

const approvalRequest = (
  task: Task,
  node: NodeId,
  { id, ...question }: Question,
  resends: number,
): Outgoing => {
  const { effectId, effect, digest } = gateOf(task, node);
  return command('approval', 'request', subjects.approvalCommand('request'), `${id}.${String(resends)}`, {
    id,
    task: task.id,
    node,
    revision: nodeState(task, node).revision,
    effectId,
    effect,
    digest,
    ...requesterOf(task),
    facts: requestFacts(task, node),
    workflow: task.definition.id,
    ...(task.rollbackOf && { rollbackOf: task.rollbackOf }),
    ...question,
  });
};

/** The title for an effect without a gate. */
export const titleOf = (task: Task, { uses, target }: CanonicalEffect): string =>
  `${beginningOf(task.goal)}: ${uses} on ${beginningOf(target)}`;

/** `resends` counts the repeats of the same request. */
export const requestApproval = (task: Task, node: NodeId, resends: number): Outgoing => {
  const { approval: id, effect, asked } = gateOf(task, node);
  const { effect: declared } = nodeDefinition(task, node);
  const by = declared
    ? { audience: declared.audience, timeoutMs: waitOf(declared), ...gatedBy(effectGate(task, node)) }
    : startRequest(task, node, effect);
  const { inputs: _, ...filledIn } = asked ?? {};
  return approvalRequest(task, node, { id, title: titleOf(task, effect), ...by, ...filledIn }, resends);
};

/** A start needs approval because its author wants it, or because the budget is used up. */
const startRequest = (
  task: Task,
  node: NodeId,
  effect: CanonicalEffect,
): Omit<Question, 'id' | 'title'> & { readonly title?: string } => {
  const { approval } = nodeDefinition(task, node);
  const audience = approval?.audience ?? ['operators'];
  const asked = budgetRequestIn(effect);
  if (asked === undefined) return { audience, timeoutMs: approval?.timeoutMs ?? START_APPROVAL_MS };
  const title = `More budget for ${beginningOf(task.goal)}: ${asked.used}`;
  return {
    title: title.slice(0, TITLE_MAX).toWellFormed(),
    audience: task.definition.policy?.budget?.audience ?? audience,
    timeoutMs: START_APPROVAL_MS,
    policy: { decisions: ['approve', 'reject'] },
  };
};

/** The timeout: from the gate by effect kind, else from the effect. */
const waitOf = ({ gate, kind, approvalTimeoutMs }: EffectDeclaration): number =>
  gate?.timeoutMs[kind] ?? gate?.timeoutMs.default ?? approvalTimeoutMs;

const gatedBy = (gate: ReturnType<typeof effectGate>): Pick<Question, 'policy' | 'gate'> =>
  gate === undefined ? {} : { policy: gate.policy, gate: `${gate.id}@${gate.version}` };

const inDoubtOf = (task: Task, node: NodeId): InDoubtEffect & { readonly approval: ApprovalId } => {
  const { inDoubt } = nodeState(task, node);
  if (inDoubt?.approval === undefined)
    throw new Error(`node ${node} of ${task.id} has no open in-doubt question`);
  return { ...inDoubt, approval: inDoubt.approval };
};

/** The request waits as long as possible, because the answer takes an investigation. */
export const requestInDoubtAnswer = (task: Task, node: NodeId, resends: number): Outgoing => {
  const { approval: id, epoch, reason = '' } = inDoubtOf(task, node);
  const { effect, asked } = gateOf(task, node);
  const title = `Did it happen? ${titleOf(task, effect)}`;
  const question: Question = {
    id,
    title: title.slice(0, TITLE_MAX).toWellFormed(),
    audience: asked?.audience ?? nodeDefinition(task, node).effect?.audience ?? ['operators'],
    timeoutMs: WAIT_MAX_MS,
    inDoubt: { epoch, reason },
  };
  return approvalRequest(task, node, question, resends);
};

/** Sends the executor a person's answer about an effect in doubt. */
export const resolveInDoubt = (task: Task, node: NodeId, resends: number): Outgoing => {
  const { approval, effectId: id, answered } = inDoubtOf(task, node);
  if (answered === undefined)
    throw new Error(`the in-doubt question of node ${node} of ${task.id} has no answer`);
  const pool = poolOf(task, node);
  const subject = subjects.effectCommand('resolve', pool);
  return command('effect', 'resolve', subject, `${approval}.${String(resends)}`, {
    id,
    task: task.id,
    node,
    attempt: nodeState(task, node).attempt,
    statement: answered.statement,
  });
};

/** One pool for all orders of a node, so that a cancellation reaches the executor that has the order. */
const poolOf = (task: Task, node: NodeId): string => {
  const { pool, effect } = nodeDefinition(task, node);
  return pool ?? effect?.pool ?? DEFAULT_POOL;
};

/** The default, because `--require-approval` has no timeout. */
export const START_APPROVAL_MS = 24 * 3_600_000;

type Run = {
  readonly id: EffectId;
  readonly effect: CanonicalEffect;
  readonly digest: string;
  readonly grant?: string;
  readonly approval?: ApprovalId;
};

const runCommand = (task: Task, node: NodeId, { id, ...order }: Run, resends: number): Outgoing => {
  const { attempt, revision } = nodeState(task, node);
  const pool = poolOf(task, node);
  // An attempt is ordered again under a new grant when the first expired; the revision tells the orders
  // apart.
  const key = `${id}.${String(revision)}.${String(attempt)}.${String(resends)}`;
  return command('effect', 'run', subjects.effectCommand('run', pool), key, {
    id,
    attempt,
    requester: task.requestedBy,
    ...order,
  });
};

/** Orders the approved effect. */
export const orderEffect = (task: Task, node: NodeId, resends: number): Outgoing => {
  const { effectId, effect, digest, grant, approval } = gateOf(task, node);
  if (grant === undefined) throw new Error(`node ${node} of ${task.id} has no grant`);
  return runCommand(task, node, { id: effectId, effect, digest, grant: grant.token, approval }, resends);
};

/** Orders a step without a grant. */
export const orderStep = (task: Task, node: NodeId, id: EffectId, resends: number): Outgoing => {
  const order = nodeState(task, node).orders?.[id];
  if (order === undefined) throw new Error(`node ${node} of ${task.id} has no step ${id}`);
  return runCommand(task, node, { id, effect: order.effect, digest: order.digest }, resends);
};

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
const cancelRollback = (task: Task, node: NodeId, by: TaskId, resends: number): readonly Outgoing[] => [
  command('task', 'cancel', subjects.taskCommand('cancel'), `${by}.${String(resends)}`, {
    id: by,
    by: task.id,
    reason: `${jobOf(task.id, node)} continues without it`,
    ifOpen: true,
  }),
  watchPeer(task, by, `over.${String(resends)}`),
];

/** The request waits as long as possible: the job stays stuck. */
export const requestStuckAnswer = (task: Task, node: NodeId, resends: number): Outgoing => {
  const { stuck, verdict, reason = '' } = nodeState(task, node);
  if (stuck === undefined || verdict === undefined)
    throw new Error(`node ${node} of ${task.id} has no open stuck-job question`);
  const { approval: id, effectId, effect, digest } = stuck;
  const { effect: declared, approval } = nodeDefinition(task, node);
  const asked = declared && nodeState(task, node).gate?.asked?.audience;
  const audience = asked ?? declared?.audience ?? approval?.audience ?? ['operators'];
  const request: RequestApproval = {
    id,
    task: task.id,
    node,
    revision: questionRevision(nodeState(task, node)),
    effectId,
    effect,
    digest,
    title: `Stuck: ${jobOf(task.id, node)}: ${beginningOf(task.goal)}`.slice(0, TITLE_MAX).toWellFormed(),
    ...requesterOf(task),
    audience,
    timeoutMs: WAIT_MAX_MS,
    stuck: { class: verdict.class, reason: reason.slice(0, STUCK_REASON_MAX).toWellFormed() },
    body: verdict.report ?? reason,
    workflow: task.definition.id,
  };
  return command(
    'approval',
    'request',
    subjects.approvalCommand('request'),
    `${id}.${String(resends)}`,
    request,
  );
};

const STUCK_REASON_MAX = 2_000;

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

export const watchPeer = (task: Task, peer: string, resends: number | string): Outgoing => {
  const [id = peer, node] = peer.split('/');
  const data = { id, watcher: task.id, ...(node !== undefined && { node }) };
  const key = `${task.id}.${peer}.${String(resends)}`;
  return command('task', 'watch', subjects.taskCommand('watch'), key, data);
};

/** `key` must differ for each new notification. */
export const notifyTask = (id: TaskId, key: string, notification: Notification): Outgoing =>
  command('task', 'notify', subjects.taskCommand('notify'), `${id}.${key}`, { id, notification });

/** One message per withdrawn request or order, by its id. */
export const withdrawCommands = (
  task: Task,
  node: NodeId,
  resends: number,
): readonly { readonly of: string; readonly messages: readonly Outgoing[] }[] => {
  const { withdrawn } = nodeState(task, node);
  if (withdrawn === undefined) return [];
  const { approval, questions = [], effects, rollbacks = [], reason } = withdrawn;
  const about = { task: task.id, node };
  const pool = poolOf(task, node);
  const take = (
    of: 'approval' | 'effect',
    subject: Outgoing['subject'],
    id: string,
    which: { readonly revision: number } | { readonly attempt: number },
    why = reason,
  ) => {
    // A request belongs to one revision, but an effect may be ordered and withdrawn in several attempts.
    const key = 'attempt' in which ? `${id}.${String(which.attempt)}` : id;
    const data = { id, ...about, ...which, reason: why };
    return { of: id, messages: [command(of, 'cancel', subject, `${key}.${String(resends)}`, data)] };
  };
  return [
    ...(approval === undefined ? [] : [approval]).map(({ id, revision }) =>
      take('approval', subjects.approvalCommand('cancel'), id, { revision }),
    ),
    ...questions.map(({ id, revision, reason: why }) =>
      take('approval', subjects.approvalCommand('cancel'), id, { revision }, why),
    ),
    ...effects.map(({ id, attempt }) =>
      take('effect', subjects.effectCommand('cancel', pool), id, { attempt }),
    ),
    ...rollbacks.map((by) => ({ of: by, messages: cancelRollback(task, node, by, resends) })),
  ];
};
