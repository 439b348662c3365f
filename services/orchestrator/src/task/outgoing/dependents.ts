import { type Dependents, DEPENDENTS_MAX } from '@holdpoint/contracts/recovery/commands';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { hasEnded, nodeDefinition, nodeState, type Task } from '../model/state.ts';
import { labelsMadeBy, workflowIndex } from '../model/workflow-index.ts';

/** The unfinished nodes that wait for the success of a node: along its routes, or for its artifacts. */
const nextOf = (task: Task, node: NodeId): readonly NodeId[] => {
  const { graph, consumers } = workflowIndex(task.definition);
  const routes = graph
    .outgoing(node)
    .flatMap(({ to, on, loop }) => (on === 'succeeded' && !loop ? [to] : []));
  const users = labelsMadeBy(nodeDefinition(task, node), 'succeeded').flatMap(
    (label) => consumers.get(label) ?? [],
  );
  return [...new Set([...routes, ...users])].filter((id) => id !== node && !hasEnded(nodeState(task, id)));
};

type Frame = { readonly node: NodeId; readonly rest: Iterator<NodeId>; longest: number };

/**
 * The length of the longest chain of unfinished nodes from each of these nodes, by depth-first search with a list
 * as its stack. An edge back to a node of the same chain does not count.
 */
const chainsFrom = (starts: readonly NodeId[], next: (node: NodeId) => readonly NodeId[]) => {
  const lengths = new Map<NodeId, number>();
  const path: Frame[] = [];
  const enter = (node: NodeId): void => {
    lengths.set(node, 0);
    path.push({ node, rest: next(node).values(), longest: 0 });
  };
  for (const start of starts) {
    if (!lengths.has(start)) enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const to = top.rest.next();
      if (to.done !== true) {
        const known = lengths.get(to.value);
        if (known === undefined) enter(to.value);
        else top.longest = Math.max(top.longest, known);
        continue;
      }
      path.pop();
      lengths.set(top.node, top.longest + 1);
      const parent = path.at(-1);
      if (parent !== undefined) parent.longest = Math.max(parent.longest, top.longest + 1);
    }
  }
  return lengths;
};

/** Unfinished nodes that cannot start before this one has succeeded. Undefined when there is none. */
export const dependentsOf = (task: Task, node: NodeId): Dependents | undefined => {
  const next = new Map<NodeId, readonly NodeId[]>();
  const following = (id: NodeId): readonly NodeId[] => {
    const found = next.get(id) ?? nextOf(task, id);
    next.set(id, found);
    return found;
  };
  const waiting = new Set(following(node));
  for (const id of waiting) for (const after of following(id)) if (after !== node) waiting.add(after);
  if (waiting.size === 0) return undefined;
  const ids = task.definition.nodes.map(({ id }) => id);
  const others = ids.filter((id) => id !== node && !waiting.has(id) && !hasEnded(nodeState(task, id)));
  const lengths = chainsFrom([node, ...others], following);
  const own = lengths.get(node) ?? 0;
  return {
    nodes: ids.filter((id) => waiting.has(id)).slice(0, DEPENDENTS_MAX),
    count: waiting.size,
    critical: others.every((id) => (lengths.get(id) ?? 0) <= own),
  };
};
