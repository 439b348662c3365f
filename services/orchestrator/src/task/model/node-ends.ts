import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { contextNow } from './context.ts';
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
} from './state.ts';
import { workflowIndex } from './workflow-index.ts';

/** What a cancellation may give as its reason. */
const REASON_MAX = 1_000;
/** What was taken back longest ago has been confirmed by now. */
const WITHDRAWN_KEPT = 100;

/** What a node still asks of others, to be taken back. An effect that has started may be applied all the same. */
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
  // The effect itself is ordered under its gate.
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

/** Everything that belongs to an attempt under way is over. */
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

/** An attempt is over: what it still asks of others is taken back, except for what ended it. */
export const endedNode = (
  task: Task,
  node: NodeId,
  change: NodeChange,
  why: string,
  endedBy?: string,
): Task => {
  const before = nodeState(task, node);
  const withdrawal = withdrawalOf(before, why, endedBy);
  // What people were told is in the history; the effect itself may still turn out to have happened.
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

/** A node that did nothing, or was broken off, hands on where it would have worked: what follows it works there too. */
export const contextLeftBy = (task: Task, node: NodeId): Pick<NodeState, 'context'> => {
  const context = contextNow(task, node);
  return Object.keys(context).length > 0 ? { context } : {};
};

/** A person, or the end of the time that there was for one, has said no: nobody need be told. */
export const blockedNode = (task: Task, node: NodeId, error: ErrorBody): Task =>
  endedNode(
    task,
    node,
    { status: 'blocked', reason: error.message, error, ...contextLeftBy(task, node) },
    error.message,
    'approval',
  );

/** A task that ends takes back what it still asks of others; what has not ended by then never will. */
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
