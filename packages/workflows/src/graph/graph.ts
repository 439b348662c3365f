import type { NodeId } from '@holdpoint/contracts/values/ids';
import {
  Outcome,
  type NodeDefinition,
  type WorkflowDefinition,
} from '@holdpoint/contracts/workflow/workflow';
import { loopsAmong } from './loops.ts';

/** What follows what: `to` is looked at when `from` has ended with `on`. */
export type Edge = {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly on: Outcome;
  /** Written at the node that waits, or at the node that is waited for. */
  readonly kind: 'after' | 'route';
  /** Goes back to a node that has run already: it and what is downstream of it get another attempt. */
  readonly loop: boolean;
};

export type Graph = {
  readonly nodes: ReadonlyMap<NodeId, NodeDefinition>;
  /** The place of a node in its definition. */
  readonly position: ReadonlyMap<NodeId, number>;
  /** The edges into a node that do not close a loop: what it waits for. */
  readonly incoming: (node: NodeId) => readonly Edge[];
  /** All edges out of a node: `after` first, then its routes by outcome. */
  readonly outgoing: (node: NodeId) => readonly Edge[];
  /** The nodes that wait for no other, in the order of the definition. */
  readonly entries: readonly NodeId[];
};

type Definition = Pick<WorkflowDefinition, 'nodes'>;
type Link = Omit<Edge, 'loop'>;

const NONE: readonly Edge[] = [];

const append = <Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void => {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
};

/** Of nodes with the same id the first counts: that there are two is for the checks to say. */
const nodesById = ({ nodes }: Definition): Map<NodeId, NodeDefinition> => {
  const byId = new Map<NodeId, NodeDefinition>();
  for (const node of nodes) if (!byId.has(node.id)) byId.set(node.id, node);
  return byId;
};

/** Every edge once. One that is written at both of its ends is an `after`. */
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
  const position = new Map([...nodes.keys()].map((id, place) => [id, place]));
  const links = linksOf(nodes);
  const loops = loopsAmong([...nodes.values()], links);
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

/** The graph of a definition, worked out once for each definition object. Names of unknown nodes are left out. */
export const graphOf = (definition: Definition): Graph => {
  const before = known.get(definition);
  if (before !== undefined) return before;
  const graph = build(definition);
  known.set(definition, graph);
  return graph;
};

/** A node, and everything that can follow it without going back, in the order of the definition. */
export const downstreamOf = (graph: Graph, node: NodeId): readonly NodeId[] => {
  if (!graph.nodes.has(node)) return [];
  const reached = new Set([node]);
  for (const id of reached) {
    for (const { to, loop } of graph.outgoing(id)) if (!loop) reached.add(to);
  }
  const place = (id: NodeId): number => graph.position.get(id) ?? 0;
  return [...reached].sort((one, other) => place(one) - place(other));
};
