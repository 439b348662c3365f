import { effectDigest, type EffectEvent } from '@holdpoint/contracts/effect';
import type { TaskEvent } from '@holdpoint/contracts/task';
import { isTerminal, mayGo } from '@holdpoint/orchestrator/domain/phases';
import type { Gate, TaskState } from '@holdpoint/orchestrator/domain/state';
import type { Change } from '../books.ts';
import type { World } from '../world.ts';

/** Phases go only where the table lets them; a task that has ended stays so. */
export const checkTask = (
  { judge, books, databases, target }: World,
  { aggregate, before, event, after }: Change<TaskState, TaskEvent>,
): void => {
  if (before.phase !== 'absent') {
    const { phase } = before;
    judge.expect(
      'phases are legal',
      mayGo(phase, event.phase),
      aggregate,
      () => `${phase} to ${event.phase} by ${event.type}`,
    );
    judge.expect(
      'a task ends once',
      !isTerminal(phase) || event.phase === phase,
      aggregate,
      () => `${phase}, then ${event.phase}`,
    );
  }
  if (event.type === 'completed' && after.phase !== 'absent') {
    for (const { effectId } of gatesOf(after)) {
      const count = target.applications(effectId);
      judge.expect(
        'a completed task has each effect exactly once',
        count === 1,
        aggregate,
        () => `${effectId} was applied ${String(count)} times`,
      );
    }
  }
  if (event.type === 'node_failed' && after.phase !== 'absent') {
    const gate = after.nodes[event.node]?.gate;
    const recorded = databases.executor.tables.events.get(gate?.effectId ?? '') ?? [];
    judge.expect(
      'a node fails only by what is recorded of its own order',
      gate !== undefined &&
        (recorded as readonly EffectEvent[]).some((fact) => fails(fact, event.attempt, gate)),
      aggregate,
      () => `${event.node}: ${JSON.stringify(recorded.slice(-4))}`,
    );
  }
  if (event.type === 'node_succeeded' && after.phase !== 'absent') {
    const gate = after.nodes[event.node]?.gate;
    if (gate === undefined) return;
    const { status } = books.executor.stateOf(gate.effectId);
    judge.expect(
      'a node succeeds by an effect that is recorded applied',
      status === 'applied',
      aggregate,
      () => `${gate.effectId} is ${status}`,
    );
  }
};

/** A repeated order is answered with the outcome of an earlier attempt. */
const fails = (fact: EffectEvent, attempt: number, gate: Gate): boolean => {
  if (fact.attempt > attempt) return false;
  switch (fact.type) {
    case 'failed_clean':
    case 'cancelled':
      return true;
    case 'in_doubt':
      return fact.next === 'person';
    case 'refused':
      return fact.order.grant === gate.grant?.token && effectDigest(fact.order.effect) === gate.digest;
    default:
      return false;
  }
};

const gatesOf = (task: Exclude<TaskState, { phase: 'absent' }>): readonly { readonly effectId: string }[] =>
  Object.values(task.nodes).flatMap(({ status, gate }) =>
    status === 'succeeded' && gate !== undefined ? [gate] : [],
  );
