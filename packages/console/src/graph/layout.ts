import { graphlib, layout } from '@dagrejs/dagre';

export type Edge = { readonly from: string; readonly to: string; readonly route?: string | undefined };
export type Placed = {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly { readonly id: string; readonly x: number; readonly y: number }[];
  readonly edges: readonly (Edge & { readonly points: readonly { x: number; y: number }[] })[];
};

export const NODE_WIDTH = 190;
export const NODE_HEIGHT = 54;

/** Where each node and edge of a workflow is drawn. Routes back are drawn too, and have no part in what stands above what. */
export const placed = (ids: readonly string[], edges: readonly Edge[], direction: 'TB' | 'LR'): Placed => {
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 24, ranksep: 40, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Set(ids);
  for (const id of ids) graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  const drawn = edges.filter(({ from, to }) => known.has(from) && known.has(to));
  for (const { from, to, route = '' } of drawn) graph.setEdge(from, to, {}, route);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    nodes: ids.map((id) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return { id, x, y };
    }),
    edges: drawn.map((edge) => {
      const { points = [] } = graph.edge(edge.from, edge.to, edge.route ?? '') as {
        points?: { x: number; y: number }[];
      };
      return { ...edge, points };
    }),
  };
};
