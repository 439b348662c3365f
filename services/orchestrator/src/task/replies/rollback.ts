import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import { type NodeId, rollbackIdOf, type TaskId } from '@holdpoint/contracts/values/ids';
import { JsonObject } from '@holdpoint/contracts/values/json';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import { RollbackInputs } from '@holdpoint/contracts/recovery/rollback';
import type { UndoInputs } from '@holdpoint/contracts/effect/undo';
import type { Outcome } from '@holdpoint/contracts/workflow/workflow';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { replyTimer, submitRollback, watchPeer } from '../outgoing/outgoing.ts';
import type { Draft } from '../model/decision-builder.ts';
import { giveBack } from '../graph/ending.ts';
import { compensationFor, happenedIn, placeOf } from '../outgoing/evidence.ts';
import { loopsFrom } from '../graph/loops.ts';
import { rewoundBy } from '../graph/rewind.ts';
import { nodeDefinition, nodeState, type Task } from '../model/state.ts';
import { awaitReply } from '../graph/steps.ts';

type Refuse = (draft: Draft, node: NodeId, reason: string) => void;

/** What has happened of what is going to be done anew, the latest first, as the task is told that takes it back. */
const toUndo = (draft: Draft, node: NodeId): UndoInputs[] => {
  const task = draft.task();
  const targets = loopsFrom(task, node, 'failed');
  const again = targets.length === 0 ? [node] : rewoundBy(draft, targets);
  return happenedIn(task, again).flatMap((id) => undoOf(task, id) ?? []);
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

const inputsFor = (draft: Draft, node: NodeId, commit: string | undefined): unknown => {
  const task = draft.task();
  const { attempt } = nodeState(task, node);
  const locks = nodeDefinition(task, node).locks?.map(({ key }) => ({ key, mode: 'exclusive' }));
  const undo = toUndo(draft, node);
  return {
    task: task.id,
    node,
    attempt,
    commit,
    place: placeOf(task, node),
    ...(locks && { locks }),
    ...(undo.length > 0 && { undo }),
  };
};

/** The worktree goes back to a commit before another attempt: an effect like any other, with a task of its own. */
export const rollBack = (draft: Draft, node: NodeId, verdict: Verdict, refuse: Refuse): void => {
  const task = draft.task();
  const before = nodeState(task, node);
  const { attempt } = before;
  const { commit } = verdict;
  const { data: inputs } = RollbackInputs.safeParse(inputsFor(draft, node, commit));
  if (inputs === undefined || commit === undefined || task.repository === undefined)
    return refuse(draft, node, 'it cannot be gone back to here');
  const by = rollbackIdOf(task.id, node, attempt);
  draft.timer({ clear: replyTimer(node) });
  draft.emit({
    type: 'rollback_ordered',
    node,
    attempt,
    by,
    commit,
    inputs: JsonObject.parse(inputs),
    verdict,
  });
  giveBack(draft, node, before);
  for (const question of mendingQuestions(draft.task(), node, 0)) draft.send(question);
  awaitReply(draft, node);
};

/** Submits it, and asks how it ends. The same submission finds the same task. */
export const mendingQuestions = (task: Task, node: NodeId, ask: number): readonly Outgoing[] => {
  const { mending } = nodeState(task, node);
  if (mending?.kind !== 'rollback') return [];
  return [submitRollback(task, node, mending.by, mending.inputs, ask), watchPeer(task, mending.by, ask)];
};

/** Which node waits for this task to take its worktree back. */
export const waitsForRollback = (task: Task, by: TaskId): NodeId | undefined =>
  task.definition.nodes.find(({ id }) => {
    const { mending } = nodeState(task, id);
    return mending?.kind === 'rollback' && mending.by === by;
  })?.id;

/** The worktree is back, or cannot be. That the task is not known yet says nothing: it is on its way. */
export const rolledBack = (
  draft: Draft,
  node: NodeId,
  outcome: Outcome | 'unknown',
  {
    again,
    refuse,
  }: { readonly again: (draft: Draft, node: NodeId, verdict: Verdict) => void; readonly refuse: Refuse },
): void => {
  const { mending, attempt } = nodeState(draft.task(), node);
  if (mending?.kind !== 'rollback' || outcome === 'unknown') return;
  const { by, verdict } = mending;
  draft.emit({ type: 'rollback_ended', node, attempt, by, outcome });
  if (outcome === 'succeeded') return again(draft, node, verdict);
  return refuse(draft, node, `going back has ${outcome}: see task ${by}`);
};
