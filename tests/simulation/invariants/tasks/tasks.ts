import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { entryIn } from '@holdpoint/executor/effect/state';
import { allNodes } from '@holdpoint/orchestrator/task/model/nodes';
import {
  findNode,
  nodeDefinition,
  type NodeState,
  nodeState,
  type Task,
} from '@holdpoint/orchestrator/task/model/state';
import type { TaskChange } from '../../event-states.ts';
import type { World } from '../../world.ts';
import { mayRepeat } from '../effects.ts';

export const watchTasks = (world: World): ((change: TaskChange) => void) => {
  /** Jobs that an operator completed by hand: their effects need no record. */
  const byHand = new Set<string>();
  return (change) => {
    const { aggregate, event } = change;
    if (event.type === 'node_succeeded') {
      const job = `${aggregate}/${event.node}`;
      if (event.by === undefined) byHand.delete(job);
      else byHand.add(job);
    }
    checkTask(world, change, byHand);
  };
};

/** The outcomes of a task and of its nodes. */
const checkTask = (world: World, change: TaskChange, byHand: ReadonlySet<string>): void => {
  const { checker, target, books } = world;
  const { aggregate, before, event, after } = change;
  if (after.phase === 'absent') return;
  if (event.type === 'completed') {
    const bad = allNodes(after.nodes).find(({ status }) => !COMPLETE.has(status));
    checker.expect('a completed task has no failed and no open node', bad === undefined, aggregate, () =>
      JSON.stringify(bad),
    );
    const isHarmless = (id: string): boolean => {
      const order = entryIn(books.executor.stateOf(id))?.order;
      return order !== undefined && mayRepeat(order);
    };
    for (const effectId of effectsDone(after, byHand)) {
      const count = target.applications(effectId);
      checker.expect(
        'a completed task has each effect exactly once, or is allowed to repeat it',
        count === 1 || (count > 1 && isHarmless(effectId)),
        aggregate,
        () => `${effectId} was applied ${String(count)} times`,
      );
    }
  }
  if (before.phase !== 'absent') checkOutcome(world, change, before);
};

const COMPLETE: ReadonlySet<string> = new Set(['succeeded', 'skipped', 'unreached']);

/** The outcome of a node is the recorded outcome of its own order. */
const checkOutcome = (
  { checker, books, databases }: World,
  { aggregate, event }: TaskChange,
  before: Task,
): void => {
  if (event.type === 'node_failed') {
    const order = orderFor(before, event);
    const recorded = databases.executor.tables.events.get(order?.id ?? '') ?? [];
    checker.expect(
      'a node fails only by the recorded outcome of its own order',
      isHeldByGate(books, before, event) ||
        (event.result !== undefined && hasFailed(books, before, event, order)) ||
        (order !== undefined &&
          ((recorded as readonly EffectEvent[]).some((fact) => fails(fact, event.attempt, order)) ||
            (event.error.code === 'ERR_IDEMPOTENCY_CONFLICT' && isOther(books, order)))),
      aggregate,
      () => `${event.node} ${String(event.step)}: ${JSON.stringify(recorded.slice(-4))}`,
    );
  }
  const succeeds =
    (event.type === 'node_succeeded' && event.detail?.startsWith('warning only') !== true) ||
    (event.type === 'step_ended' && event.result.outcome === 'succeeded');
  if (!succeeds || event.step === undefined) return;
  const order = orderFor(before, { node: event.node, step: event.step });
  const { status } = books.executor.stateOf(order?.id ?? '');
  checker.expect(
    'a node succeeds only by an applied effect',
    status === 'applied',
    aggregate,
    () => `${event.node} ${String(event.step)}: ${String(order?.id)} is ${status}`,
  );
};

const NOT_APPROVED: ReadonlySet<string> = new Set(['ERR_FORBIDDEN', 'APPROVALS_EXPIRED']);

/** Its request was decided, and its gate hands it to operators: no order was sent. */
const isHeldByGate = (
  { approvals }: World['books'],
  task: Task,
  { node, paused, error }: OfTask<'node_failed'>,
): boolean => {
  const { gate } = nodeState(task, node);
  if (paused === undefined || !NOT_APPROVED.has(error.code) || gate === undefined) return false;
  return approvals.stateOf(gate.approval).status === 'closed';
};

/** The effect was applied and reports a failure, or the node's steps together failed. */
const hasFailed = (
  { executor }: World['books'],
  task: Task,
  { node, step }: OfTask<'node_failed'>,
  order: Ordered | undefined,
): boolean => {
  if (step === undefined) return Object.keys(nodeState(task, node).done ?? {}).length > 0;
  const state = executor.stateOf(order?.id ?? '');
  return state.status === 'applied' && state.outputs['outcome'] !== 'succeeded';
};

type Ordered = { readonly id: string; readonly digest: string; readonly grant?: string | undefined };

/** The order of a step: its own, or that of the approved effect. */
const orderFor = (
  task: Task,
  {
    node,
    step = 'run',
  }: { readonly node: Parameters<typeof findNode>[1]; readonly step?: string | undefined },
): Ordered | undefined => {
  const state = findNode(task, node);
  const own = Object.entries(state?.orders ?? {}).find(([, order]) => order.step === step);
  if (own !== undefined) return { id: own[0], digest: own[1].digest };
  const gate = step === 'run' && nodeDefinition(task, node).effect !== undefined ? state?.gate : undefined;
  return gate && { id: gate.effectId, digest: gate.digest, grant: gate.grant?.token };
};

/** The key belongs to another effect, so that the ledger records nothing of this order. */
const isOther = (books: World['books'], { id, digest }: Ordered): boolean =>
  entryIn(books.executor.stateOf(id))?.order.digest !== digest;

/** A repeated order is answered with the outcome of an earlier attempt. */
const fails = (fact: EffectEvent, attempt: number, order: Ordered): boolean => {
  if (fact.attempt > attempt) return false;
  switch (fact.type) {
    case 'failed_clean':
    case 'not_applied':
    case 'cancelled':
      return true;
    case 'in_doubt':
      return fact.next === 'person';
    case 'refused':
      return fact.order.grant === order.grant && effectDigest(fact.order.effect) === order.digest;
    default:
      return false;
  }
};

/** The effects of succeeded nodes. A preview may have shown that nothing was to do. */
const effectsDone = (task: Task, byHand: ReadonlySet<string>): readonly string[] =>
  task.definition.nodes.flatMap(({ id, effect }) => {
    if (byHand.has(`${task.id}/${id}`)) return [];
    const state: NodeState | undefined = findNode(task, id);
    const { gate } = state ?? {};
    return effect !== undefined && state?.status === 'succeeded' && gate !== undefined ? [gate.effectId] : [];
  });

export type OfTask<Type extends TaskEvent['type']> = Extract<TaskEvent, { readonly type: Type }>;
