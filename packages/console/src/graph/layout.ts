import * as dagre from '@dagrejs/dagre';

export type Edge = { readonly from: string; readonly to: string; readonly route?: string | undefined };
type Point = { readonly x: number; readonly y: number };
/** The used part of the library: its own declarations import a bundled package. */
type Graph = {
  readonly setGraph: (label: object) => void;
  readonly graph: () => { readonly width?: number; readonly height?: number };
  readonly setNode: (name: string, label: object) => void;
  readonly node: (name: string) => Point;
  readonly setEdge: (from: string, to: string, label: object, name: string) => void;
  readonly edge: (from: string, to: string, name: string) => { readonly points?: readonly Point[] };
};
const { graphlib, layout } = dagre as unknown as {
  readonly graphlib: { readonly Graph: new (options: object) => Graph };
  readonly layout: (graph: Graph) => void;
};

export type Placed = {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly ({ readonly id: string } & Point)[];
  readonly edges: readonly (Edge & { readonly points: readonly Point[] })[];
};

export const NODE_WIDTH = 190;
export const NODE_HEIGHT = 54;

/** Positions of nodes and edges. Back routes are drawn, but do not affect the order. */
export const placed = (ids: readonly string[], edges: readonly Edge[], direction: 'TB' | 'LR'): Placed => {
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 24, ranksep: 40, marginx: 12, marginy: 12 });
  // The library uses names as object keys, and a node may be called `__proto__`: pass numbers.
  const names = new Map(ids.map((id, i) => [id, `n${String(i)}`]));
  for (const name of names.values()) graph.setNode(name, { width: NODE_WIDTH, height: NODE_HEIGHT });
  const drawn = edges.flatMap((edge, i) => {
    const [from, to] = [names.get(edge.from), names.get(edge.to)];
    if (from === undefined || to === undefined) return [];
    const name = `e${String(i)}`;
    graph.setEdge(from, to, {}, name);
    return [{ edge, from, to, name }];
  });
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    nodes: [...names].map(([id, name]) => {
      const { x, y } = graph.node(name);
      return { id, x, y };
    }),
    edges: drawn.map(({ edge, from, to, name }) => {
      const { points = [] } = graph.edge(from, to, name);
      return { ...edge, points };
    }),
  };
};
