import type { NodeId } from '@holdpoint/contracts/values/ids';
import {
  Outcome,
  type NodeDefinition,
  type WorkflowDefinition,
} from '@holdpoint/contracts/workflow/workflow';
import { loopsAmong } from './loops.ts';

/** An edge: `to` is considered when `from` ends with the outcome `on`. */
export type Edge = {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly on: Outcome;
  /** Written at the waiting node, or at the node before it. */
  readonly kind: 'after' | 'route';
  /** Leads back to a node that has run: it and everything downstream get another attempt. */
  readonly loop: boolean;
};

export type Graph = {
  readonly nodes: ReadonlyMap<NodeId, NodeDefinition>;
  /** The index of each node in its definition. */
  readonly position: ReadonlyMap<NodeId, number>;
  /** The edges into a node that close no loop: the nodes it waits for. */
  readonly incoming: (node: NodeId) => readonly Edge[];
  /** All edges out of a node: `after` first, then routes by outcome. */
  readonly outgoing: (node: NodeId) => readonly Edge[];
  /** The nodes without incoming edges, in the order of the definition. */
  readonly entries: readonly NodeId[];
};

type Definition = Pick<WorkflowDefinition, 'nodes'>;
type Link = Omit<Edge, 'loop'>;

const NONE: readonly Edge[] = [];
/** No link that leads on in the order of the definition closes a loop. */
const NO_LOOPS: ReadonlySet<Link> = new Set();

const append = <Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void => {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
};

/** Among nodes with the same id the first counts; the checks report the others. */
const nodesById = ({ nodes }: Definition): Map<NodeId, NodeDefinition> => {
  const byId = new Map<NodeId, NodeDefinition>();
  for (const node of nodes) if (!byId.has(node.id)) byId.set(node.id, node);
  return byId;
};

/** Each edge once. An edge written at both ends counts as `after`. */
const linksOf = (nodes: ReadonlyMap<NodeId, NodeDefinition>): readonly Link[] => {
  const links = new Map<string, Link>();
  const add = (link: Link): void => {
    const key = `${link.from}>${link.to}>${link.on}`;
    if (nodes.has(link.from) && nodes.has(link.to) && !links.has(key)) links.set(key, link);
  };
  for (const { id, after } of nodes.values()) {
    for (const from of after) add({ from, to: id, on: 'succeeded', kind: 'after' });
  }
  for (const { id, on } of nodes.values()) {
    for (const outcome of Outcome.options) {
      for (const to of on?.[outcome] ?? []) add({ from: id, to, on: outcome, kind: 'route' });
    }
  }
  return [...links.values()];
};

const build = (definition: Definition): Graph => {
  const nodes = nodesById(definition);
  const position = new Map([...nodes.keys()].map((id, index) => [id, index]));
  const links = linksOf(nodes);
  const leadOn = links.every(({ from, to }) => (position.get(from) ?? 0) < (position.get(to) ?? 0));
  const loops = leadOn ? NO_LOOPS : loopsAmong([...nodes.values()], links);
  const incoming = new Map<NodeId, Edge[]>();
  const outgoing = new Map<NodeId, Edge[]>();
  for (const link of links) {
    const edge: Edge = { ...link, loop: loops.has(link) };
    append(outgoing, edge.from, edge);
    if (!edge.loop) append(incoming, edge.to, edge);
  }
  return {
    nodes,
    position,
    incoming: (node) => incoming.get(node) ?? NONE,
    outgoing: (node) => outgoing.get(node) ?? NONE,
    entries: [...nodes.keys()].filter((id) => !incoming.has(id)),
  };
};

const known = new WeakMap<Definition, Graph>();

/** The graph of a definition, cached per definition object. Unknown names are left out. */
export const graphOf = (definition: Definition): Graph => {
  const before = known.get(definition);
  if (before !== undefined) return before;
  const graph = build(definition);
  known.set(definition, graph);
  return graph;
};

/** A node and everything that can follow it without a loop, in the order of the definition. */
export const downstreamOf = (graph: Graph, node: NodeId): readonly NodeId[] => {
  if (!graph.nodes.has(node)) return [];
  const reached = new Set([node]);
  for (const id of reached) {
    for (const { to, loop } of graph.outgoing(id)) if (!loop) reached.add(to);
  }
  const indexOf = (id: NodeId): number => graph.position.get(id) ?? 0;
  return [...reached].sort((one, other) => indexOf(one) - indexOf(other));
};
