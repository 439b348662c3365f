import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { graphOf, type Graph } from '../graph/graph.ts';
import type { RawNode } from './schema.ts';

type Routes = NonNullable<NodeDefinition['on']>;
type GraphNode = Pick<RawNode, 'id' | 'uses' | 'after' | 'on'>;

// The checks of the definition report unknown names.
const ids = (names: readonly string[] | undefined): NodeId[] => (names ?? []) as NodeId[];

/** The routes of a node without empty outcomes. */
export const routesOf = ({ on }: Pick<RawNode, 'on'>): Routes | undefined => {
  const routes: Routes = {};
  if (on?.succeeded !== undefined && on.succeeded.length > 0) routes.succeeded = ids(on.succeeded);
  if (on?.failed !== undefined && on.failed.length > 0) routes.failed = ids(on.failed);
  if (on?.blocked !== undefined && on.blocked.length > 0) routes.blocked = ids(on.blocked);
  if (on?.cancelled !== undefined && on.cancelled.length > 0) routes.cancelled = ids(on.cancelled);
  return Object.keys(routes).length === 0 ? undefined : routes;
};

export const afterOf = ({ after }: Pick<RawNode, 'after'>): NodeId[] =>
  ids((after ?? []).map(({ node_id }) => node_id));

/** The graph of template nodes, before compilation. */
export const stageGraph = (nodes: readonly GraphNode[]): Graph =>
  graphOf({
    nodes: nodes.map((node): NodeDefinition => {
      const on = routesOf(node);
      return {
        id: node.id as NodeId,
        uses: node.uses,
        after: afterOf(node),
        args: {},
        ...(on !== undefined && { on }),
      };
    }),
  });

export const entriesOf = (nodes: readonly GraphNode[]): readonly NodeId[] => stageGraph(nodes).entries;

/**
 * The ends of a successful stage: nodes that succeed without a successor. Nodes after a failure do not count,
 * because a node waiting for them would never start.
 */
export const endsOf = (nodes: readonly GraphNode[]): readonly NodeId[] => {
  const graph = stageGraph(nodes);
  const reached = new Set(graph.entries);
  const ends: NodeId[] = [];
  for (const id of reached) {
    const onward = graph.outgoing(id).filter(({ on }) => on === 'succeeded');
    if (onward.length === 0) ends.push(id);
    for (const { to } of onward) reached.add(to);
  }
  return ends;
};
