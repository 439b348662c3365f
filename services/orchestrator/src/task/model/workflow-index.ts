import { artifactLabel, scopeOf } from '@holdpoint/contracts/workflow/artifact';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import {
  type NodeDefinition,
  Outcome,
  type WorkflowDefinition,
} from '@holdpoint/contracts/workflow/workflow';
import { type Graph, graphOf } from '@holdpoint/workflows/graph/graph';

/** A definition, indexed for the engine: its graph, and the makers and users of artifacts. */
export type WorkflowIndex = {
  readonly graph: Graph;
  /** Nodes that may make an artifact, with any outcome. Empty when no node declares one. */
  readonly producers: ReadonlyMap<string, readonly NodeId[]>;
  readonly consumers: ReadonlyMap<string, readonly NodeId[]>;
  /** Nodes that make artifacts for other tasks, or commit them. */
  readonly givers: ReadonlySet<NodeId>;
  /** The givers after this node, up to the next commit on each way. */
  readonly giversAfter: (node: NodeId) => readonly NodeId[];
};

/** Whether the node commits what earlier nodes left in its worktree. */
export const isCommit = ({ uses }: NodeDefinition): boolean =>
  uses === 'cap.env.builtin.git.stage_commit' || uses === 'cap.env.builtin.git.commit';

/** Each node is looked up once. */
const createGiversAfter = (graph: Graph, givers: ReadonlySet<NodeId>): WorkflowIndex['giversAfter'] => {
  const found = new Map<NodeId, readonly NodeId[]>();
  const isEnd = (id: NodeId): boolean => {
    const definition = graph.nodes.get(id);
    return definition !== undefined && isCommit(definition);
  };
  const search = (node: NodeId): readonly NodeId[] => {
    const reached = new Set([node]);
    for (const id of reached) {
      if (isEnd(id)) continue;
      for (const { to, loop } of graph.outgoing(id)) if (!loop) reached.add(to);
    }
    return [...reached].filter((id) => id !== node && givers.has(id));
  };
  return (node) => {
    const known = found.get(node) ?? search(node);
    found.set(node, known);
    return known;
  };
};

/** Every ended node makes this artifact, without declaring it. */
export const outputLabel = (node: NodeId): string =>
  artifactLabel({ type: 'custom', typeId: 'operation_output', key: node });

/** The labels of the artifacts that a node makes with this outcome. */
export const labelsMadeBy = ({ id, produces }: NodeDefinition, outcome: Outcome): readonly string[] => [
  ...(produces?.[outcome] ?? []).map(artifactLabel),
  outputLabel(id),
];

const buildIndex = (definition: WorkflowDefinition): WorkflowIndex => {
  const producers = new Map<string, NodeId[]>();
  const consumers = new Map<string, NodeId[]>();
  const exporters = new Set<NodeId>();
  const add = (index: Map<string, NodeId[]>, label: string, node: NodeId): void => {
    const nodes = index.get(label);
    if (nodes === undefined) index.set(label, [node]);
    else if (nodes.at(-1) !== node) nodes.push(node);
  };
  const hasArtifacts = definition.nodes.some(
    ({ needs, produces }) => needs !== undefined || produces !== undefined,
  );
  for (const { id, needs = [], produces = {} } of hasArtifacts ? definition.nodes : []) {
    add(producers, outputLabel(id), id);
    for (const artifact of needs) add(consumers, artifactLabel(artifact), id);
    for (const artifact of Outcome.options.flatMap((outcome) => produces[outcome] ?? [])) {
      add(producers, artifactLabel(artifact), id);
      if (scopeOf(artifact) !== 'run') exporters.add(id);
    }
  }
  const graph = graphOf(definition);
  if (exporters.size > 0) for (const node of definition.nodes) if (isCommit(node)) exporters.add(node.id);
  return { graph, producers, consumers, givers: exporters, giversAfter: createGiversAfter(graph, exporters) };
};

const indexes = new WeakMap<WorkflowDefinition, WorkflowIndex>();

/** Built once per definition object; loading a task creates a new object. */
export const workflowIndex = (definition: WorkflowDefinition): WorkflowIndex => {
  const before = indexes.get(definition);
  if (before !== undefined) return before;
  const wiring = buildIndex(definition);
  indexes.set(definition, wiring);
  return wiring;
};
