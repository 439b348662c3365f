import type { NodeId } from '@holdpoint/contracts/values/ids';
import {
  Outcome,
  type NodeDefinition,
  type WorkflowDefinition,
} from '@holdpoint/contracts/workflow/workflow';
import { componentsOf } from '../graph/components.ts';
import { graphOf, type Edge, type Graph } from '../graph/graph.ts';
import type { Collector } from './collector.ts';

/** Longer cycles are abbreviated in messages. */
const CHAIN_MAX = 20;

export const checkIds = ({ nodes }: WorkflowDefinition, { error }: Collector): void => {
  const first = new Map<NodeId, number>();
  for (const [at, { id }] of nodes.entries()) {
    const before = first.get(id);
    if (before === undefined) first.set(id, at);
    else {
      error({
        code: 'WORKFLOW_NODE_TWICE',
        path: `nodes[${id}].id`,
        found: `${id} at positions ${String(before + 1)} and ${String(at + 1)}`,
        expected: 'a unique id',
      });
    }
  }
};

/** Reports names that no node has. */
export const checkReferences = (node: NodeDefinition, { nodes }: Graph, { error }: Collector): void => {
  const check = (name: NodeId, path: string): void => {
    if (nodes.has(name)) return;
    error({
      code: 'WORKFLOW_NODE_UNKNOWN',
      path: `nodes[${node.id}].${path}`,
      found: `${name}, which is not a node`,
      expected: 'the id of a node',
      meant: { word: name, known: nodes },
    });
  };
  for (const [at, name] of node.after.entries()) check(name, `after[${String(at)}]`);
  for (const outcome of Outcome.options) {
    for (const [at, name] of (node.on?.[outcome] ?? []).entries())
      check(name, `on.${outcome}[${String(at)}]`);
  }
};

/** The shortest cycle through a node. */
const shortestCycle = (start: NodeId, next: (node: NodeId) => Iterable<NodeId>): readonly NodeId[] => {
  const cameFrom = new Map<NodeId, NodeId>();
  const queue: NodeId[] = [start];
  for (const node of queue) {
    for (const to of next(node)) {
      if (to === start) {
        const way: NodeId[] = [start];
        for (let at: NodeId | undefined = node; at !== undefined && at !== start; at = cameFrom.get(at))
          way.push(at);
        return [...way, start].reverse();
      }
      if (cameFrom.has(to)) continue;
      cameFrom.set(to, node);
      queue.push(to);
    }
  }
  return [start, start];
};

const chain = (way: readonly NodeId[]): string =>
  way.length <= CHAIN_MAX
    ? way.join(' -> ')
    : [
        ...way.slice(0, CHAIN_MAX - 2),
        `… (${String(way.length - CHAIN_MAX + 1)} more)`,
        ...way.slice(-1),
      ].join(' -> ');

/**
 * Reports cycles of success alone, which never end. A cycle that needs another outcome is a loop, and every
 * loop has a budget. Returns the cycle number of each node.
 */
const checkCycles = (graph: Graph, { error }: Collector): ReadonlyMap<NodeId, number> => {
  const ids = [...graph.nodes.keys()];
  const onSuccess = new Map(ids.map((id) => [id, graph.outgoing(id).filter(({ on }) => on === 'succeeded')]));
  const circles = componentsOf(ids, onSuccess);
  const reported = new Set<number>();
  for (const id of ids) {
    const circle = circles.get(id) ?? -1;
    const within = (node: NodeId): NodeId[] =>
      (onSuccess.get(node) ?? []).map(({ to }) => to).filter((to) => circles.get(to) === circle);
    if (reported.has(circle) || within(id).length === 0) continue;
    reported.add(circle);
    error({
      code: 'WORKFLOW_CYCLE',
      path: `nodes[${id}]`,
      found: `a cycle without a bound: ${chain(shortestCycle(id, within))}`,
      expected: 'an exit: only loops through failed or blocked have a budget',
    });
  }
  return new Map([...circles].filter(([, circle]) => reported.has(circle)));
};

/**
 * Reports a node that waits through `after` for its own successor. Cycles of success are reported already.
 */
const checkBackwardAfter = (edge: Edge, cycles: ReadonlyMap<NodeId, number>, { error }: Collector): void => {
  const said = cycles.has(edge.from) && cycles.get(edge.from) === cycles.get(edge.to);
  if (edge.kind !== 'after' || !edge.loop || said) return;
  error({
    code: 'WORKFLOW_NEVER_RUNS',
    path: `nodes[${edge.to}].after`,
    found: `${edge.to}, which waits for ${edge.from}, which itself follows ${edge.to}`,
    expected: 'a node that can run first: only routes (on) may lead back',
  });
};

/** `control.prepare` and `control.terminal` always succeed. */
const canEnd = ({ uses }: NodeDefinition, outcome: Outcome): boolean =>
  outcome === 'succeeded' || (uses !== 'control.prepare' && uses !== 'control.terminal');

/** Reports nodes that no path from the entries reaches. */
const checkReach = (graph: Graph, { error }: Collector): void => {
  const reached = new Set(graph.entries);
  for (const id of reached) {
    const node = graph.nodes.get(id);
    for (const { to, on, loop } of graph.outgoing(id)) {
      if (!loop && node !== undefined && canEnd(node, on)) reached.add(to);
    }
  }
  for (const id of graph.nodes.keys()) {
    if (reached.has(id)) continue;
    error({
      code: 'WORKFLOW_NEVER_RUNS',
      path: `nodes[${id}]`,
      found: `${id}, which can never start`,
      expected: 'a path from an entry node',
    });
  }
};

/** Checks that every node can run and that the graph ends. */
export const checkGraph = (definition: WorkflowDefinition, collector: Collector): void => {
  const graph = graphOf(definition);
  const cycles = checkCycles(graph, collector);
  for (const id of graph.nodes.keys()) {
    for (const edge of graph.outgoing(id)) checkBackwardAfter(edge, cycles, collector);
  }
  checkReach(graph, collector);
};
