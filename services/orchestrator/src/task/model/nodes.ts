import type { NodeState } from './state.ts';

/**
 * The nodes of a task in definition order, in chunks: a change copies two short lists, whatever the size of
 * the graph. Plain lists, because a state is a JSON document.
 */
export type Nodes = readonly (readonly NodeState[])[];

/** Copying a node and copying the lists cost about the same at this size, for graphs of thousands. */
const CHUNK = 64;

export const createNodes = (states: readonly NodeState[]): Nodes => {
  const chunks: (readonly NodeState[])[] = [];
  for (let at = 0; at < states.length; at += CHUNK) chunks.push(states.slice(at, at + CHUNK));
  return chunks;
};

export const nodeAt = (nodes: Nodes, position: number): NodeState | undefined =>
  nodes[Math.floor(position / CHUNK)]?.[position % CHUNK];

export const withNodeAt = (nodes: Nodes, position: number, state: NodeState): Nodes => {
  const at = Math.floor(position / CHUNK);
  const chunk = nodes[at];
  if (chunk === undefined || position % CHUNK >= chunk.length)
    throw new Error(`no node at ${String(position)}`);
  return nodes.with(at, chunk.with(position % CHUNK, state));
};

export const allNodes = (nodes: Nodes): readonly NodeState[] => nodes.flat();
