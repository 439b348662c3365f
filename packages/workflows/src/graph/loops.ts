import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { NodeDefinition, Outcome } from '@holdpoint/contracts/workflow/workflow';
import { componentsOf } from './components.ts';

type Link = {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly on: Outcome;
  readonly kind: 'after' | 'route';
};

/**
 * A score against a node as the start of a cycle: it waits inside the cycle, is a gate, or follows a success.
 */
const reluctances = (
  nodes: readonly NodeDefinition[],
  inner: readonly Link[],
): ReadonlyMap<NodeId, number> => {
  const waiting = new Set<NodeId>();
  const following = new Set<NodeId>();
  for (const { from, to, on, kind } of inner) {
    if (from !== to && kind === 'after') waiting.add(to);
    if (from !== to && on === 'succeeded') following.add(to);
  }
  return new Map(
    nodes.map(({ id, uses }) => [
      id,
      (waiting.has(id) ? 4 : 0) + (uses.startsWith('control.') ? 2 : 0) + (following.has(id) ? 1 : 0),
    ]),
  );
};

/**
 * The start of each cycle: the entrance with the lowest score, or any node of a cycle without entrances. On a
 * tie the first in the definition wins.
 */
const startsOf = (
  nodes: readonly NodeDefinition[],
  components: ReadonlyMap<NodeId, number>,
  inner: readonly Link[],
  outer: readonly Link[],
): Iterable<NodeId> => {
  const reluctance = reluctances(nodes, inner);
  const entrances = new Set(outer.map(({ to }) => to));
  const entered = new Set(outer.map(({ to }) => components.get(to)));
  const starts = new Map<number | undefined, NodeId>();
  for (const { id } of nodes) {
    const component = components.get(id);
    const best = starts.get(component);
    const mayStart = entrances.has(id) || !entered.has(component);
    const better = best === undefined || (reluctance.get(id) ?? 0) < (reluctance.get(best) ?? 0);
    if (mayStart && better) starts.set(component, id);
  }
  return starts.values();
};

/** Back edges of a depth-first walk. It is iterative, because paths may be long. */
const backLinks = <L extends Link>(starts: Iterable<NodeId>, links: readonly L[]): ReadonlySet<L> => {
  const out = Map.groupBy(links, ({ from }) => from);
  const back = new Set<L>();
  const seen = new Set<NodeId>();
  const onPath = new Set<NodeId>();
  const path: { readonly node: NodeId; readonly rest: Iterator<L> }[] = [];
  const enter = (node: NodeId): void => {
    seen.add(node);
    onPath.add(node);
    path.push({ node, rest: (out.get(node) ?? []).values() });
  };
  for (const start of starts) {
    enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.rest.next();
      if (next.done === true) {
        onPath.delete(top.node);
        path.pop();
      } else if (onPath.has(next.value.to)) back.add(next.value);
      else if (!seen.has(next.value.to)) enter(next.value.to);
    }
  }
  return back;
};

/**
 * The edges that close a loop; without them the graph has no cycle. Each cycle is walked on its own, so edges
 * from outside do not change the result.
 */
export const loopsAmong = <L extends Link>(
  nodes: readonly NodeDefinition[],
  links: readonly L[],
): ReadonlySet<L> => {
  const ids = nodes.map(({ id }) => id);
  const components = componentsOf(
    ids,
    Map.groupBy(links, ({ from }) => from),
  );
  const inner: L[] = [];
  const outer: L[] = [];
  for (const link of links) {
    (components.get(link.from) === components.get(link.to) ? inner : outer).push(link);
  }
  return backLinks(startsOf(nodes, components, inner, outer), inner);
};
