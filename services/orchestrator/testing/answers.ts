import type { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { repositoryIdOf, type EffectId, type NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { ArtifactState } from '@holdpoint/contracts/task/registry';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { StepResult } from '@holdpoint/contracts/task/step';
import type { Outcome } from '@holdpoint/contracts/workflow/workflow';
import type { TaskMessage } from '../src/task/model/messages.ts';
import { nodeState, type Task } from '../src/task/model/state.ts';
import { id } from './graphs.ts';
import { NOW, recover } from './tasks.ts';

export type Answer = (task: Task) => TaskMessage;
type Result = Omit<StepResult, 'outcome'>;

/** The effect of an ordered step, or the one effect under a grant. */
export const effectOf = (task: Task, node: NodeId, step?: string): EffectId => {
  const { orders = {}, gate } = nodeState(task, node);
  const open = Object.entries(orders).filter(([, order]) => step === undefined || order.step === step);
  const [only] = open;
  if (open.length > 1) throw new Error(`which of ${open.map(([, order]) => order.step).join(', ')}?`);
  if (only !== undefined) return only[0] as EffectId;
  if (gate?.grant === undefined) throw new Error(`${node} has not ordered ${step ?? 'anything'}`);
  return gate.effectId;
};

type Says = EffectEvent extends infer E
  ? E extends EffectEvent
    ? Omit<E, 'id' | 'task' | 'node' | 'attempt' | 'order'>
    : never
  : never;

export const reports =
  (name: string, says: Says, step?: string): Answer =>
  (task) => {
    const node = id(name);
    const about = {
      id: effectOf(task, node, step),
      task: task.id,
      node,
      attempt: nodeState(task, node).attempt,
    };
    return { kind: 'effect', event: { ...says, ...about } as EffectEvent };
  };

const ends =
  (outcome: Outcome) =>
  (name: string, result: Result = {}, step?: string): Answer =>
    reports(name, { type: 'applied', epoch: 1, outputs: { outcome, ...result } as never }, step);
/** The step ran, with this result. */
export const succeeds = ends('succeeded');
export const fails = ends('failed');
export const blocks = ends('blocked');
/** An effect without a stage capability was applied. */
export const applied = (name: string): Answer =>
  reports(name, { type: 'applied', epoch: 1, outputs: { line: 1 } });
/** The effect was certainly not applied. */
export const breaks = (name: string, code = 'EXECUTOR_TARGET_UNAVAILABLE', step?: string): Answer =>
  reports(name, { type: 'failed_clean', epoch: 1, error: { code, message: 'no' } }, step);
/** The effect is in doubt. */
export const vanishes = (name: string): Answer =>
  reports(name, { type: 'in_doubt', epoch: 2, reason: 'lost', next: 'person' });
/** The result of a repository inspection: existing artifacts, and unmet preconditions. */
export const sees = (name: string, artifacts: Readonly<Record<string, boolean>>, unmet?: string): Answer => {
  const preconditions = unmet === undefined ? [] : [{ kind: 'clean_worktree', met: false, detail: unmet }];
  return succeeds(name, { outputs: { artifacts: { ...artifacts }, preconditions } }, 'inspect');
};

const CLOCK = { by: 'expiry', surface: 'clock' } as const;

const decides =
  (outcome: 'approved' | 'rejected' | 'changes_requested' | 'expired', lastsMs = 3_600_000) =>
  (name: string, change: Partial<ApprovalResolved> = {}): Answer =>
  (task) => {
    const node = id(name);
    const { gate, revision } = nodeState(task, node);
    if (gate === undefined) throw new Error(`${name} has asked for no approval`);
    const grant = { grant: `grant for ${gate.approval}`, validUntil: NOW + lastsMs };
    const event = {
      type: 'resolved',
      id: gate.approval,
      task: task.id,
      node,
      revision,
      outcome,
      by: 'grace',
    };
    return {
      kind: 'approval',
      event: { ...event, at: NOW, ...(outcome === 'approved' && grant), ...change } as never,
    };
  };
export const approves = decides('approved');
export const approvesFor = (ms: number) => decides('approved', ms);
export const rejects = decides('rejected');
export const wantsChanges = decides('changes_requested');
export const expires = (name: string): Answer => decides('expired')(name, CLOCK);
/** The request expired, and the gate treats that as requested changes. */
export const wantsChangesInTime = (name: string): Answer => wantsChanges(name, CLOCK);

const informs =
  (notification: (task: Task) => object): Answer =>
  (task) => ({
    kind: 'notify',
    payload: { id: task.id, notification: notification(task) as never },
    task: task.id,
  });
export const locked = (
  name: string,
  change: { readonly attempt?: number; readonly waitingFor?: string[] } = {},
) =>
  informs((task) => ({
    kind: 'locks',
    task: task.id,
    node: name,
    attempt: change.attempt ?? nodeState(task, id(name)).attempt,
    repository: repositoryIdOf(task.repository ?? ''),
    acquired: change.waitingFor === undefined,
    waitingFor: change.waitingFor ?? [],
  }));
/** The registry's notification about artifacts. */
export const stands = (
  name: string,
  artifactStates: Readonly<Record<string, ArtifactState['state']>>,
): Answer =>
  informs((task) => ({
    kind: 'artifacts',
    task: task.id,
    node: name,
    attempt: nodeState(task, id(name)).attempt,
    artifactStates: Object.entries(artifactStates).map(([label, state]) => ({
      label,
      state,
      by: 'other/maker',
    })),
  }));
/** Another task or one of its nodes has ended. */
export const ended = (peer: string, outcome: Outcome | 'unknown'): Answer =>
  informs((task) => {
    const [other = '', node] = peer.split('/');
    return {
      kind: 'peer',
      task: task.id,
      peer: TaskId.parse(other),
      outcome,
      ...(node !== undefined && { node }),
    };
  });
/** Another task watches this one or one of its nodes. */
export const watches =
  (watcher: string, node?: string): Answer =>
  (task) => ({
    kind: 'watch',
    payload: { id: task.id, watcher: TaskId.parse(watcher), ...(node !== undefined && { node: id(node) }) },
    task: task.id,
  });

/** An answer about a stuck job. */
export const answers =
  (name: string, answer: StuckAnswer | undefined, comment?: string): Answer =>
  (task) => {
    const { stuck, revision } = nodeState(task, id(name));
    const event = {
      type: 'resolved',
      id: stuck?.approval,
      task: task.id,
      node: id(name),
      revision,
      outcome: answer === undefined ? 'expired' : 'answered',
      by: 'grace',
      at: NOW,
      ...(answer !== undefined && { answer }),
      ...(comment !== undefined && { comment }),
    };
    return { kind: 'approval', event: event as never };
  };

/** Recovery gives up a job that its template or gate hands to operators. */
export const givesUp =
  (name: string): Answer =>
  (task) => {
    const { attempt, failure } = nodeState(task, id(name));
    return recover('escalate', { node: id(name), attempt, reason: failure?.paused ?? 'because' });
  };
