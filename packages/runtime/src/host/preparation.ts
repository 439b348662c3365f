import type { Routed } from '../engine/inbound.ts';
import type { Addressed } from '../engine/kinds.ts';

type Prepared = Pick<Routed<Addressed>, 'kind' | 'aggregate' | 'message' | 'prepare'>;

/**
 * Prepares long messages one after another, with a pause after each slice: other messages are decided in between. The messages
 * of an aggregate keep their order: they wait for its preparation.
 */
export const createPreparation = <Item extends Prepared>(
  ready: (item: Item) => void,
  pause: () => Promise<void>,
) => {
  const queue: Item[] = [];
  let running: Promise<void> | undefined;

  const prepared = async (item: Item): Promise<Item> => {
    if (item.prepare === undefined) return item;
    try {
      const slices = item.prepare();
      let slice = slices.next();
      while (slice.done !== true) {
        await pause();
        slice = slices.next();
      }
      return { ...item, message: slice.value };
    } catch {
      // The decision does the same work, fails in the same way, and reports it.
      return item;
    }
  };

  const run = async (): Promise<void> => {
    for (let [item] = queue; item !== undefined; [item] = queue) {
      const next = await prepared(item);
      queue.shift();
      ready(next);
    }
    running = undefined;
  };

  const mustWait = ({ kind, aggregate, prepare }: Item): boolean =>
    prepare !== undefined || queue.some((each) => each.kind === kind && each.aggregate === aggregate);

  return {
    accept: (item: Item): void => {
      if (!mustWait(item)) return ready(item);
      queue.push(item);
      running ??= run();
    },
    waiting: (): number => queue.length,
    /** Resolves when no preparation is under way. */
    idle: async (): Promise<void> => running,
  };
};
