import { StoredRollback } from '@holdpoint/contracts/recovery/rollback';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { rememberAttempt } from '../model/earlier-attempts.ts';
import { effectGate } from '../model/effect-gate.ts';
import { changeNode, nextAttempt, replaceNode, withoutDecision, withoutUndefined } from './node-changes.ts';
import { withdrawalOf } from './node-ends.ts';
import { type NodeState, type Task, type TaskChange, nodeState, openQuestion } from '../model/state.ts';
import { rememberCommand } from './task-changes.ts';

/** A rolled-back effect counts as not applied, both for gates and for the next order. */
export const markUndone = (task: Task, inputs: JsonObject): Task => {
  const effects = new Set(StoredRollback.parse(inputs).undo?.map(({ effect }) => effect));
  return task.definition.nodes.reduce((reached, { id }) => {
    const { gate, undone = 0 } = nodeState(reached, id);
    return gate !== undefined && effects.has(gate.effectId)
      ? changeNode(reached, id, { undone: undone + 1, ordered: undefined, appliedBefore: undefined })
      : reached;
  }, task);
};

export const restarted = (task: Task, event: Extract<TaskChange, { type: 'restarted' }>): Task => {
  const { nodes, route, hint } = event;
  let reached = task;
  for (const id of nodes) {
    const before = nodeState(reached, id);
    const loops = id === route ? (before.loops ?? 0) + 1 : route === undefined ? undefined : before.loops;
    const again = before.status === 'idle' && id !== event.node ? before.attempt : before.attempt + 1;
    const change = {
      ...(again > before.attempt && rememberAttempt(effectGate(reached, id), before)),
      ...(before.status === 'succeeded' && {
        succeededBefore: {
          attempt: before.attempt,
          ...(before.detail !== undefined && { detail: before.detail }),
        },
      }),
      attempt: again,
      loops,
      hint: hint ?? before.hint,
      ...withdrawalOf(before, 'the node restarts', id === route ? 'run' : undefined),
    };
    reached = replaceNode(reached, id, withoutUndefined(nextAttempt(before, change as Partial<NodeState>)));
  }
  const { outcome: _outcome, error: _error, ...open } = reached;
  return rememberCommand({ ...open, reportSerial: task.version + 1 }, event.command);
};

export const retried = (task: Task, event: Extract<TaskChange, { type: 'node_retrying' }>): Task => {
  const before = nodeState(task, event.node);
  const { gate: asked, failure } = before;
  const gate = asked && withoutDecision(asked);
  // Attempts granted by recovery or a person do not count as loops of the node's own rules.
  const ownRule = event.verdict === undefined && event.command === undefined && before.status !== 'escalated';
  const loops = ownRule ? (before.loops ?? 0) + 1 : before.loops;
  // Without a preview, the same grant still covers the same effect.
  const kept = { ...(gate && before.preview === undefined && { gate }), ...(failure && { failure }) };
  // The open question needs no answer any more.
  const taken = openQuestion(before) !== undefined && withdrawalOf(before, 'another attempt starts');
  const past = rememberAttempt(effectGate(task, event.node), before);
  const change = {
    ...kept,
    ...past,
    status: 'retrying' as const,
    attempt: event.attempt,
    loops,
    hint: event.hint ?? before.hint,
    ...(event.session !== undefined && { session: event.session }),
    ...taken,
  };
  return rememberCommand(
    replaceNode(task, event.node, withoutUndefined(nextAttempt(before, change as Partial<NodeState>))),
    event.command,
  );
};
