import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { contextNow } from '../model/context.ts';
import { type NodeChange, replaceNode, withoutUndefined } from './node-changes.ts';
import {
  type GateRequest,
  hasEnded,
  type NodeState,
  nodeState,
  openQuestion,
  questionRevision,
  type Task,
  type Withdrawal,
} from '../model/state.ts';
import { workflowIndex } from '../model/workflow-index.ts';

/** Limit for the reason of a cancellation or a checkpoint. */
export const REASON_MAX = 1_000;
/** Older withdrawals have been confirmed by now. */
const WITHDRAWN_KEPT = 100;

/** The open requests and orders of a node, to be withdrawn. A started effect may still be applied. */
export const withdrawalOf = (
  {
    status,
    gate,
    orders = {},
    attempt,
    revision,
    withdrawn,
    underGrant,
    inDoubt,
    stuck,
    preparation,
  }: NodeState,
  why: string,
  endedBy?: string,
): { readonly withdrawn?: Withdrawal } => {
  const effects = Object.entries(orders).flatMap(([id, { step }]) =>
    step === endedBy ? [] : [{ id: id as GateRequest['effectId'], attempt }],
  );
  // The effect itself is ordered through its gate.
  if (underGrant && gate !== undefined && endedBy !== 'run') effects.push({ id: gate.effectId, attempt });
  const open = status === 'awaiting_approval' && gate?.closed === undefined;
  const asked = open && endedBy !== 'approval' ? gate : undefined;
  const approval = asked && { id: asked.approval, revision };
  const question = openQuestion({ ...(inDoubt && { inDoubt }), ...(stuck && { stuck }) });
  const rollback = preparation?.kind === 'rollback' ? [preparation.by] : [];
  if (effects.length === 0 && approval === undefined && question === undefined && rollback.length === 0)
    return {};
  const reason = why.slice(0, REASON_MAX).toWellFormed();
  const known = (withdrawn?.effects ?? []).filter(({ id }) => effects.every((effect) => effect.id !== id));
  const all = [...known, ...effects].slice(-WITHDRAWN_KEPT);
  const request = approval ?? withdrawn?.approval;
  const put =
    question === undefined ? [] : [{ id: question, revision: questionRevision({ revision }), reason }];
  const questions = [...(withdrawn?.questions ?? []), ...put].slice(-WITHDRAWN_KEPT);
  const rollbacks = [...(withdrawn?.rollbacks ?? []), ...rollback].slice(-WITHDRAWN_KEPT);
  return {
    withdrawn: {
      reason,
      effects: all,
      ...(request && { approval: request }),
      ...(questions.length > 0 && { questions }),
      ...(rollbacks.length > 0 && { rollbacks }),
    },
  };
};

/** Resets everything that belongs to a running attempt. */
export const NO_ATTEMPT = {
  wait: undefined,
  locks: undefined,
  orders: undefined,
  underGrant: undefined,
  done: undefined,
  items: undefined,
  preparation: undefined,
  deferral: undefined,
} as const;

/** Ends an attempt and withdraws its open requests, except the one that ended it (`endedBy`). */
export const endedNode = (
  task: Task,
  node: NodeId,
  change: NodeChange,
  why: string,
  endedBy?: string,
): Task => {
  const before = nodeState(task, node);
  const withdrawal = withdrawalOf(before, why, endedBy);
  // The history has the shown text. The effect may still turn out to be applied.
  const { asked: _, ...gate } = before.gate ?? {};
  const reached = replaceNode(
    task,
    node,
    withoutUndefined({
      ...before,
      ...NO_ATTEMPT,
      inDoubt: undefined,
      stuck: undefined,
      verdict: undefined,
      ...(before.gate && { gate }),
      ...change,
      ...withdrawal,
    }),
  );
  return workflowIndex(task.definition).givers.has(node)
    ? { ...reached, reportSerial: task.version + 1 }
    : reached;
};

/** A node that did not run passes its context on, so that later nodes work in the same place. */
export const contextLeftBy = (task: Task, node: NodeId): Pick<NodeState, 'context'> => {
  const context = contextNow(task, node);
  return Object.keys(context).length > 0 ? { context } : {};
};

/** Blocked by a rejection or an expiry, which closed the request already. */
export const blockedNode = (task: Task, node: NodeId, error: ErrorBody): Task =>
  endedNode(
    task,
    node,
    { status: 'blocked', reason: error.message, error, ...contextLeftBy(task, node) },
    error.message,
    'approval',
  );

/** Ends every open node and withdraws its requests. */
export const closeOpenNodes = (task: Task, why: string, status: 'blocked' | 'cancelled'): Task => {
  let reached = task;
  for (const { id } of task.definition.nodes) {
    const state = nodeState(reached, id);
    if (hasEnded(state)) continue;
    const untouched = state.status === 'idle' || state.status === 'waiting';
    const change = { status: untouched ? status : ('cancelled' as const), reason: why };
    reached = endedNode(reached, id, change, why);
  }
  return { ...reached, reportSerial: task.version + 1 };
};
