import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import { type NodeId, rollbackIdOf, type TaskId } from '@holdpoint/contracts/values/ids';
import { JsonObject } from '@holdpoint/contracts/values/json';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import { RollbackInputs } from '@holdpoint/contracts/recovery/rollback';
import type { UndoInputs } from '@holdpoint/contracts/effect/undo';
import type { Outcome } from '@holdpoint/contracts/workflow/workflow';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { replyTimer, watchPeer } from '../outgoing/outgoing.ts';
import { submitRollback } from '../outgoing/recovery-requests.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { releaseAttempt } from '../graph/ending.ts';
import { compensationFor, appliedEffects, workPlaceOf } from '../outgoing/evidence.ts';
import { backRoutes } from '../graph/loops.ts';
import { restartSet } from '../graph/restart.ts';
import { nodeDefinition, nodeState, type Task } from '../model/state.ts';
import { startReplyTimer } from '../graph/steps.ts';

type Refuse = (builder: DecisionBuilder, node: NodeId, reason: string) => void;

/** The applied effects that will be repeated, latest first, in the form that the rollback task needs. */
const toUndo = (builder: DecisionBuilder, node: NodeId): UndoInputs[] => {
  const task = builder.task();
  const targets = backRoutes(task, node, 'failed');
  const again = targets.length === 0 ? [node] : restartSet(builder, targets);
  return appliedEffects(task, again).flatMap((id) => undoOf(task, id) ?? []);
};

const undoOf = (task: Task, node: NodeId): UndoInputs | undefined => {
  const { gate, outputs = {} } = nodeState(task, node);
  const uses = compensationFor(task, node);
  const effectClass = uses === undefined ? undefined : CAPABILITIES[uses]?.effectClass;
  if (gate === undefined || uses === undefined || effectClass === undefined) return undefined;
  const { effectId: effect, effect: done } = gate;
  const pool = nodeDefinition(task, node).effect?.pool;
  const about = { effect, uses, effectClass, args: done.args, outputs, target: done.target };
  return { ...about, ...(pool !== undefined && { pool }) };
};

const inputsFor = (builder: DecisionBuilder, node: NodeId, commit: string | undefined): unknown => {
  const task = builder.task();
  const { attempt } = nodeState(task, node);
  const locks = nodeDefinition(task, node).locks?.map(({ key }) => ({ key, mode: 'exclusive' }));
  const undo = toUndo(builder, node);
  return {
    task: task.id,
    node,
    attempt,
    commit,
    place: workPlaceOf(task, node),
    ...(locks && { locks }),
    ...(undo.length > 0 && { undo }),
  };
};

/** Resets the worktree before another attempt, by a task of its own with its own approval. */
export const startRollback = (
  builder: DecisionBuilder,
  node: NodeId,
  verdict: Verdict,
  refuse: Refuse,
): void => {
  const task = builder.task();
  const before = nodeState(task, node);
  const { attempt } = before;
  const { commit } = verdict;
  const { data: inputs } = RollbackInputs.safeParse(inputsFor(builder, node, commit));
  if (inputs === undefined || commit === undefined || task.repository === undefined)
    return refuse(builder, node, 'a rollback is impossible here: no repository or no commit');
  const by = rollbackIdOf(task.id, node, attempt);
  builder.timer({ clear: replyTimer(node) });
  builder.emit({
    type: 'rollback_ordered',
    node,
    attempt,
    by,
    commit,
    inputs: JsonObject.parse(inputs),
    verdict,
  });
  releaseAttempt(builder, node, before);
  for (const question of rollbackCommands(builder.task(), node, 0)) builder.send(question);
  startReplyTimer(builder, node);
};

/** The submission and the watch. A repeated submission finds the same task. */
export const rollbackCommands = (task: Task, node: NodeId, resends: number): readonly Outgoing[] => {
  const { preparation } = nodeState(task, node);
  if (preparation?.kind !== 'rollback') return [];
  return [
    submitRollback(task, node, preparation.by, preparation.inputs, resends),
    watchPeer(task, preparation.by, resends),
  ];
};

/** The node that waits for this rollback task. */
export const nodeInRollback = (task: Task, by: TaskId): NodeId | undefined =>
  task.definition.nodes.find(({ id }) => {
    const { preparation } = nodeState(task, id);
    return preparation?.kind === 'rollback' && preparation.by === by;
  })?.id;

/** `unknown` means that the submission is still on its way. */
export const onRollbackEnded = (
  builder: DecisionBuilder,
  node: NodeId,
  outcome: Outcome | 'unknown',
  {
    again,
    refuse,
  }: {
    readonly again: (builder: DecisionBuilder, node: NodeId, verdict: Verdict) => void;
    readonly refuse: Refuse;
  },
): void => {
  const { preparation, attempt } = nodeState(builder.task(), node);
  if (preparation?.kind !== 'rollback' || outcome === 'unknown') return;
  const { by, verdict } = preparation;
  builder.emit({ type: 'rollback_ended', node, attempt, by, outcome });
  if (outcome === 'succeeded') return again(builder, node, verdict);
  return refuse(builder, node, `the rollback ended as ${outcome}: see task ${by}`);
};
