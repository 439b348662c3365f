type Outgoing<Node> = ReadonlyMap<Node, readonly { readonly to: Node }[]>;

type Frame<Node> = { readonly node: Node; readonly rest: Iterator<{ readonly to: Node }> };

/**
 * Numbers the strongly connected components: two nodes share a number when each reaches the other. Tarjan's
 * algorithm in linear time, with a list as its stack.
 */
export const componentsOf = <Node>(
  nodes: readonly Node[],
  outgoing: Outgoing<Node>,
): ReadonlyMap<Node, number> => {
  const component = new Map<Node, number>();
  const order = new Map<Node, number>();
  const lowest = new Map<Node, number>();
  const open: Node[] = [];
  const path: Frame<Node>[] = [];
  const lower = (node: Node, to: number | undefined): void => {
    lowest.set(node, Math.min(lowest.get(node) ?? Infinity, to ?? Infinity));
  };
  const enter = (node: Node): void => {
    order.set(node, order.size);
    lowest.set(node, order.size - 1);
    open.push(node);
    path.push({ node, rest: (outgoing.get(node) ?? []).values() });
  };
  const leave = (node: Node): void => {
    path.pop();
    const parent = path.at(-1);
    if (parent !== undefined) lower(parent.node, lowest.get(node));
    const number = order.get(node);
    if (number === undefined || lowest.get(node) !== number) return;
    for (let member = open.pop(); member !== undefined; member = open.pop()) {
      component.set(member, number);
      if (member === node) return;
    }
  };
  for (const start of nodes) {
    if (!order.has(start)) enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.rest.next();
      if (next.done === true) leave(top.node);
      else if (!order.has(next.value.to)) enter(next.value.to);
      else if (!component.has(next.value.to)) lower(top.node, order.get(next.value.to));
    }
  }
  return component;
};
