/** A message that waits for its decision. */
type Waiting = { readonly aggregate: string };

/** What a message waits for: `first` moves work on, `next` begins new work, and for `lazy` nobody waits. */
export type Lane = 'first' | 'next' | 'lazy';

/** Whether a message of the aggregate may be decided now. */
type IsFree = (aggregate: string) => boolean;

/** Of each batch this share is kept for each of the other lanes, so that they never starve. */
const KEPT_SHARE = 0.1;

/**
 * The messages that wait for their decisions, in the order of their decisions: what moves work on goes first, what begins
 * work next. The messages of one aggregate keep their order: they share a lane while any of them waits.
 */
export const createLanes = <Item extends Waiting>(laneOf: (item: Item) => Lane) => {
  const lanes: Record<Lane, Item[]> = { first: [], next: [], lazy: [] };
  const places = new Map<string, { readonly lane: Lane; count: number }>();

  const takeFrom = (lane: Lane, max: number, isFree: IsFree): readonly Item[] => {
    const taken: Item[] = [];
    const kept: Item[] = [];
    let looked = 0;
    for (const item of lanes[lane]) {
      if (taken.length >= max) break;
      looked += 1;
      (isFree(item.aggregate) ? taken : kept).push(item);
    }
    lanes[lane] = kept.concat(lanes[lane].slice(looked));
    for (const { aggregate } of taken) {
      const place = places.get(aggregate);
      if (place !== undefined && (place.count -= 1) === 0) places.delete(aggregate);
    }
    return taken;
  };

  /** A message that others wait for takes along the lazy ones before it. */
  const hurry = (aggregate: string): void => {
    const late = lanes.lazy.filter((item) => item.aggregate === aggregate);
    lanes.lazy.splice(0, lanes.lazy.length, ...lanes.lazy.filter((item) => item.aggregate !== aggregate));
    lanes.first.push(...late);
    places.set(aggregate, { lane: 'first', count: late.length });
  };

  return {
    put: (item: Item): Lane => {
      const { aggregate } = item;
      const wanted = laneOf(item);
      if (wanted !== 'lazy' && places.get(aggregate)?.lane === 'lazy') hurry(aggregate);
      const place = places.get(aggregate) ?? { lane: wanted, count: 0 };
      place.count += 1;
      places.set(aggregate, place);
      lanes[place.lane].push(item);
      return place.lane;
    },
    /** The messages of the next batch. Those of an aggregate that is not free stay, in their order. */
    take: (max: number, isFree: IsFree = () => true): readonly Item[] => {
      const share = Math.floor(max * KEPT_SHARE);
      const keptFor = (lane: Lane): number => Math.min(lanes[lane].length, share);
      const first = takeFrom('first', max - keptFor('next') - keptFor('lazy'), isFree);
      const next = takeFrom('next', max - first.length - keptFor('lazy'), isFree);
      return [...first, ...next, ...takeFrom('lazy', max - first.length - next.length, isFree)];
    },
    /** Messages that somebody waits for. */
    urgent: (): number => lanes.first.length + lanes.next.length,
    size: (): number => lanes.first.length + lanes.next.length + lanes.lazy.length,
  };
};
