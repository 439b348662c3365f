import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { findNode, nodeState, type Task } from '@holdpoint/orchestrator/task/model/state';
import type { TaskChange } from '../event-states.ts';
import { verifyGrant } from '../services/grants.ts';
import type { World } from '../world.ts';
import type { OfTask } from './tasks/tasks.ts';

/** The step that ends with an event which does not name it. */
const ENDS: Readonly<Record<string, string>> = {
  node_inspected: 'inspect',
  node_previewed: 'preview',
  // The grant had expired, and the executor answered that nothing had started.
  approval_requested: 'run',
};
/** These follow from a result and do not name its step. */
const FOLLOW_A_RESULT: ReadonlySet<string> = new Set(['restarted', 'node_retrying', 'node_escalated']);

type Open = { readonly part: string; readonly attempt: number };

/** What a task orders: with a grant, once per attempt, and never beside an open order of an earlier attempt. */
export const watchOrders = ({ checker, books }: World) => {
  /** By job and effect id: the open orders. */
  const open = new Map<string, Map<string, Open>>();
  const openOf = (task: string, node: string): Map<string, Open> => {
    const key = `${task}/${node}`;
    const known = open.get(key) ?? new Map<string, Open>();
    open.set(key, known);
    return known;
  };

  const checkStep = (task: string, { effect, digest }: OfTask<'step_ordered'>): void =>
    checker.expect(
      'only work is ordered without a grant',
      effect.kind === 'work' && CAPABILITIES[effect.uses]?.work === true && effectDigest(effect) === digest,
      task,
      () => JSON.stringify(effect),
    );

  const checkEffect = (after: Task, event: OfTask<'effect_ordered'>): void => {
    const claims = verifyGrant(event.grant);
    const approval = books.approvals.stateOf(event.approval);
    const gate = findNode(after, event.node)?.gate;
    // A forged grant is passed on; the executor refuses it.
    if (claims === undefined) return;
    checker.expect(
      'an effect is ordered with its own grant',
      approval.status === 'closed' &&
        approval.decided.outcome === 'approved' &&
        claims.digest === gate?.digest &&
        claims.sub === event.effectId,
      after.id,
      () => JSON.stringify({ event, approval }),
    );
  };

  const order = (before: Task, event: OfTask<'effect_ordered' | 'step_ordered'>): void => {
    const known = openOf(before.id, event.node);
    const part = event.type === 'effect_ordered' ? 'run' : event.step;
    const { done = {}, attempt } = nodeState(before, event.node);
    const again = known.has(event.effectId) || (attempt === event.attempt && done[part] !== undefined);
    checker.expect(
      'nothing is ordered twice in one attempt',
      !again,
      before.id,
      () => `${event.node} ${part}`,
    );
    const other = [...known.values()].find((each) => each.attempt !== event.attempt);
    checker.expect(
      'two attempts of a job are never ordered at the same time',
      other === undefined,
      before.id,
      () => `${event.node}: ${JSON.stringify(other)} beside ${String(event.attempt)}`,
    );
    known.set(event.effectId, { part, attempt: event.attempt });
  };

  const isWanted = (after: Task, node: NodeId, id: string): boolean => {
    const { orders = {}, status, gate, done } = nodeState(after, node);
    const effect = status === 'running' && gate?.effectId === id && done?.['run'] === undefined;
    return Object.hasOwn(orders, id) || effect;
  };

  const checkDropped = (after: Task, event: TaskChange['event'], node: NodeId): void => {
    const step = 'step' in event ? (event.step ?? 'run') : ENDS[event.type];
    const own = 'node' in event && event.node === node;
    const back = event.type === 'restarted' && event.route === node;
    const withdrawn = new Set<string>(nodeState(after, node).withdrawn?.effects.map(({ id }) => id));
    const known = openOf(after.id, node);
    for (const [id, { part }] of known) {
      if (isWanted(after, node, id)) continue;
      known.delete(id);
      const ended = (own && part === step) || ((own || back) && FOLLOW_A_RESULT.has(event.type));
      checker.expect(
        'an order is forgotten only after it ended or was withdrawn',
        ended || withdrawn.has(id),
        after.id,
        () => `${event.type} forgets ${part} of ${node}, ${id}`,
      );
    }
  };

  return ({ before, event, after }: TaskChange): void => {
    if (before.phase === 'absent' || after.phase === 'absent') return;
    if (event.type === 'step_ordered') checkStep(after.id, event);
    if (event.type === 'effect_ordered') checkEffect(after, event);
    if (event.type === 'step_ordered' || event.type === 'effect_ordered') order(before, event);
    for (const { id } of after.definition.nodes)
      if (nodeState(before, id) !== nodeState(after, id)) checkDropped(after, event, id);
  };
};
