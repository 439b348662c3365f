/** An element stores its index, so that it can be moved and removed in logarithmic time. -1: in no heap. */
export type HeapElement = { at: number };

/** A binary heap with the first element on top. */
export const createHeap = <Element extends HeapElement>(
  before: (one: Element, other: Element) => boolean,
) => {
  const elements: Element[] = [];

  const put = (element: Element, at: number): void => {
    elements[at] = element;
    element.at = at;
  };

  const rise = (element: Element): void => {
    let { at } = element;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = elements[above];
      if (parent === undefined || !before(element, parent)) break;
      put(parent, at);
      at = above;
    }
    put(element, at);
  };

  const sink = (element: Element): void => {
    let { at } = element;
    for (;;) {
      const [left, right] = [elements[2 * at + 1], elements[2 * at + 2]];
      const child = right !== undefined && left !== undefined && before(right, left) ? right : left;
      if (child === undefined || !before(child, element)) break;
      const below = child.at;
      put(child, at);
      at = below;
    }
    put(element, at);
  };

  return {
    top: (): Element | undefined => elements[0],
    size: (): number => elements.length,
    add: (element: Element): void => {
      element.at = elements.length;
      rise(element);
    },
    /** Call it after the element's order has changed. */
    moved: (element: Element): void => {
      rise(element);
      sink(element);
    },
    remove: (element: Element): void => {
      const { at } = element;
      const last = elements.pop();
      element.at = -1;
      if (last === undefined || last === element) return;
      put(last, at);
      rise(last);
      sink(last);
    },
  };
};
