import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { graphOf, type Graph } from '../graph/graph.ts';
import type { RawNode } from './schema.ts';

type Routes = NonNullable<NodeDefinition['on']>;
type GraphNode = Pick<RawNode, 'id' | 'uses' | 'after' | 'on'>;

// Whether the names are names of nodes is said by the checks of the definition.
const ids = (names: readonly string[] | undefined): NodeId[] => (names ?? []) as NodeId[];

/** The routes of a node, without the outcomes that lead nowhere. */
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

/** How the nodes of a template follow each other, before anything else of them is known. */
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

/** Where a stage starts. */
export const entriesOf = (nodes: readonly GraphNode[]): readonly NodeId[] => stageGraph(nodes).entries;

/**
 * Where a stage that went well ends: at what succeeds and is followed by nothing. What runs only after a failure is no end:
 * whatever waited for it would wait for ever.
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
