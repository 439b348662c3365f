import type { AttemptReport } from '@holdpoint/contracts/workflow/attempt';
import { CAPABILITIES, compensationOf } from '@holdpoint/contracts/effect/capabilities';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import {
  type AssessFailure,
  CommitId,
  OUTPUT_MAX,
  type PastEffect,
  type RecordAttempt,
  type WorkLocation,
} from '@holdpoint/contracts/recovery/commands';
import { refusedVerdictReason } from '../model/checkpoints.ts';
import { contextNow } from '../model/context.ts';
import { type NodeState, nodeDefinition, nodeState, type Task } from '../model/state.ts';
import { dependentsOf } from './dependents.ts';
import { nearestAgent } from '../model/upstream.ts';

const GOAL_MAX = 2_000;
const EFFECTS_MAX = 100;
const TARGET_MAX = 512;

const commitIn = (value: unknown): string | undefined => CommitId.safeParse(value).data;

/** The commit that a worktree was created from, according to the node that created it. */
const baseOf = (task: Task, worktree: string): string | undefined => {
  for (const { id } of task.definition.nodes) {
    const { outputs } = nodeState(task, id);
    if (outputs?.['worktree'] === worktree) return commitIn(outputs['commit']);
  }
  return undefined;
};

export const workPlaceOf = (task: Task, node: NodeId): WorkLocation => {
  const { worktree, branch } = contextNow(task, node);
  const base = worktree === undefined ? undefined : baseOf(task, worktree);
  return {
    ...(worktree !== undefined && { worktree }),
    ...(branch !== undefined && { branch }),
    ...(base !== undefined && { base }),
  };
};

const PREPARE = 'cap.env.builtin.worktree.prepare';
/** The executor appends this when a node needs several folders. */
const ANOTHER = /-[0-9a-f]{8}$/;

/**
 * The worktree of a node, if a node of this task made it: its name ends with task and node. A fork inherits the
 * worktrees of its origin, and does not hold them.
 */
export const heldWorktree = (task: Task, node: NodeId): string | undefined => {
  const { worktree } = workPlaceOf(task, node);
  if (worktree === undefined) return undefined;
  const isOwn = task.definition.nodes.some(({ id, uses }) => {
    if (uses !== PREPARE || nodeState(task, id).outputs?.['worktree'] !== worktree) return false;
    const ending = `-${task.id}-${id}`;
    return worktree.endsWith(ending) || worktree.replace(ANOTHER, '').endsWith(ending);
  });
  return isOwn ? worktree : undefined;
};

/** A failed check is about the work of an agent, so the report is that agent's. */
export const attemptReport = (task: Task, node: NodeId): AttemptReport | undefined => {
  const { report } = nodeState(task, node);
  if (report?.approach !== undefined) return report;
  const agent = nearestAgent(task, node);
  const { approach, files, done, next } = (agent && nodeState(task, agent).report) ?? {};
  const found = {
    ...report,
    ...(approach !== undefined && { approach }),
    ...(files && { files: [...files] }),
    ...(done !== undefined && { done }),
    ...(next !== undefined && { next }),
  };
  return Object.keys(found).length > 0 ? found : undefined;
};

const evidenceOf = (task: Task, node: NodeId, exitCode: number | undefined) => {
  const { attempt, gate, session } = nodeState(task, node);
  const { uses, effect } = nodeDefinition(task, node);
  const report = attemptReport(task, node);
  const place = workPlaceOf(task, node);
  return {
    task: task.id,
    node,
    attempt,
    uses,
    workflow: `${task.definition.id}@${task.definition.version}`,
    goal: task.goal.slice(0, GOAL_MAX).toWellFormed(),
    ...(effect && gate && { target: gate.effect.target.slice(0, TARGET_MAX) }),
    ...(exitCode !== undefined && { exitCode }),
    ...(report && { report }),
    ...(Object.keys(place).length > 0 && { place }),
    ...(session !== undefined && { session }),
  };
};

const isApplied = ({ status, ordered }: NodeState): boolean => ordered === true && status === 'succeeded';

/** The compensating capability of a node's effect. Undefined when there is none. */
export const compensationFor = (task: Task, node: NodeId): string | undefined => {
  const { uses, effect } = nodeDefinition(task, node);
  const label = compensationOf(uses);
  if (CAPABILITIES[label] === undefined) return undefined;
  // Only a declared compensation script takes a script back.
  return uses.startsWith('cap.env.shell.') && effect?.compensate === undefined ? undefined : label;
};

/** The applied effects among these nodes, last in the definition first. */
export const appliedEffects = (task: Task, nodes: readonly NodeId[]): readonly NodeId[] => {
  const wanted = new Set(nodes);
  return task.definition.nodes
    .flatMap(({ id, effect }) =>
      effect !== undefined && wanted.has(id) && isApplied(nodeState(task, id)) ? [id] : [],
    )
    .toReversed();
};

const pastEffects = (task: Task): PastEffect[] => {
  const all = task.definition.nodes.map(({ id }) => id);
  return appliedEffects(task, all)
    .slice(0, EFFECTS_MAX)
    .flatMap((node) => {
      const { gate } = nodeState(task, node);
      if (gate === undefined) return [];
      const compensate = compensationFor(task, node);
      const target = gate.effect.target.slice(0, TARGET_MAX);
      return [{ node, uses: gate.effect.uses, target, ...(compensate !== undefined && { compensate }) }];
    });
};

/** Counts the worker losses of this attempt. */
const crashesOf = ({ marks = [] }: NodeState): number =>
  marks.filter((mark) => mark.startsWith('worker_crash_detected')).length;

/** The failure report for recovery. */
export const assessmentOf = (task: Task, node: NodeId): AssessFailure => {
  const state = nodeState(task, node);
  const { failure, gate } = state;
  if (failure === undefined) throw new Error(`node ${node} of ${task.id} has not failed`);
  const crashes = crashesOf(state);
  const effects = pastEffects(task);
  const dependents = dependentsOf(task, node);
  const { recovery } = task.definition;
  const refused = refusedVerdictReason(task, node, state);
  const output = failure.result?.hint;
  return {
    ...evidenceOf(task, node, failure.result?.exitCode),
    outcome: failure.outcome,
    error: failure.error,
    ...(gate && { effectClass: gate.effect.effectClass }),
    ...(output !== undefined && { output: output.slice(-OUTPUT_MAX).toWellFormed() }),
    ...(failure.cause !== undefined && { cause: failure.cause }),
    ...(crashes > 0 && { crashes }),
    ...(effects.length > 0 && { effects }),
    ...(dependents && { dependents }),
    ...(recovery && { rules: recovery }),
    ...(refused !== undefined && { refused }),
    ...(failure.paused !== undefined && { paused: failure.paused }),
  };
};

/** The report of a successful attempt. Undefined when recovery would never use it. */
export const attemptRecord = (task: Task, node: NodeId): RecordAttempt | undefined => {
  const { outputs = {}, exitCode } = nodeState(task, node);
  const { onError, uses } = nodeDefinition(task, node);
  const checked = uses.startsWith('control.gate.') && outputs['clean'] === true;
  const good = checked ? commitIn(outputs['commit']) : undefined;
  if (good === undefined && onError?.strategy !== 'recover') return undefined;
  return { ...evidenceOf(task, node, exitCode), ...(good !== undefined && { good }) };
};
