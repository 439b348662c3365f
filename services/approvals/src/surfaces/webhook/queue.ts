/** Webhooks that are sent to one origin at the same time. */
const CONCURRENT = 4;
/** Further webhooks of an origin wait for their timers. */
const WAITING_MAX = 200;

type Lane = { running: number; readonly waiting: Map<string, () => Promise<void>> };

/** Runs the deliveries of each origin apart, so that a slow receiver delays its own webhooks only. */
export const createQueue = () => {
  const lanes = new Map<string, Lane>();
  const under = new Set<Promise<void>>();
  let stopped = false;

  const next = (origin: string, lane: Lane): void => {
    const [first] = lane.waiting;
    if (first === undefined || lane.running >= CONCURRENT || stopped) {
      if (lane.running === 0 && lane.waiting.size === 0) lanes.delete(origin);
      return;
    }
    const [key, run] = first;
    lane.waiting.delete(key);
    lane.running += 1;
    const done = run().finally(() => {
      under.delete(done);
      lane.running -= 1;
      next(origin, lane);
    });
    under.add(done);
  };

  return {
    /** `run` never rejects. A second delivery of the same key that waits is dropped. */
    add: (origin: string, key: string, run: () => Promise<void>): void => {
      const lane = lanes.get(origin) ?? { running: 0, waiting: new Map<string, () => Promise<void>>() };
      if (stopped || lane.waiting.has(key) || lane.waiting.size >= WAITING_MAX) return;
      lanes.set(origin, lane);
      lane.waiting.set(key, run);
      next(origin, lane);
    },
    /** Resolves once no delivery is running. */
    stop: async (): Promise<void> => {
      stopped = true;
      await Promise.all(under);
    },
  };
};
