import type { JsMsg } from '@nats-io/jetstream';
import type { OrderSource } from './order-source.ts';

/** Slots are reserved before orders are pulled, so that every pulled order can start at once. */
type Slots = {
  /** Takes at most this many; 0 when none is free. */
  readonly take: (most: number) => number;
  readonly giveBack: (count: number) => void;
  readonly free: () => number;
};

const createSlots = (count: number, onFree: () => void): Slots => {
  let free = count;
  return {
    take: (most) => {
      const taken = Math.max(0, Math.min(most, free));
      free -= taken;
      return taken;
    },
    giveBack: (back) => {
      if (back === 0) return;
      free += back;
      onFree();
    },
    free: () => free,
  };
};

const PULL_MS = 10_000;
/** With fewer slots than versions, the versions take turns. */
const TURN_MS = 1_000;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5_000;

export type DispatchParts = {
  /** By the hash of the version. */
  readonly sources: ReadonlyMap<string, OrderSource>;
  readonly concurrency: number;
  /** Executes an order; resolves when its slot is free again. */
  readonly take: (hash: string, order: JsMsg) => Promise<void>;
  readonly onTrouble: (hash: string, error: unknown) => void;
};

type PullState = {
  readonly hash: string;
  readonly source: OrderSource;
  open: number;
  turn: number;
  retryMs: number;
  away: boolean;
};

/** Pulls orders of several versions, in total at most as many as there are free slots. */
export const createDispatch = ({ sources, concurrency, take, onTrouble }: DispatchParts) => {
  const asked: PullState[] = [...sources].map(([hash, source]) => ({
    hash,
    source,
    open: 0,
    turn: 0,
    retryMs: FIRST_RETRY_MS,
    away: false,
  }));
  const withinMs = concurrency < asked.length ? TURN_MS : PULL_MS;
  const retries = new Set<NodeJS.Timeout>();
  let stopped = false;
  let turns = 0;

  const slots = createSlots(concurrency, () => pump());

  /** The next version: the one with the fewest open pulls, then the longest wait. */
  const next = (): PullState | undefined =>
    asked.filter(({ away }) => !away).sort((one, other) => one.open - other.open || one.turn - other.turn)[0];

  /** An equal share of the free slots, as far as possible. */
  const shareOf = (of: PullState): number => {
    const present = asked.filter(({ away }) => !away);
    const all = present.reduce((sum, { open }) => sum + open, slots.free());
    return Math.max(1, Math.ceil(all / present.length) - of.open);
  };

  const pump = (): void => {
    while (!stopped && slots.free() > 0) {
      const of = next();
      if (of === undefined) return;
      void ask(of, slots.take(shareOf(of)));
    }
  };

  const ask = async (of: PullState, count: number): Promise<void> => {
    let left = count;
    turns += 1;
    of.turn = turns;
    of.open += count;
    try {
      await of.source.pull(count, withinMs, (order) => {
        left -= 1;
        of.open -= 1;
        void take(of.hash, order).finally(() => slots.giveBack(1));
      });
      of.retryMs = FIRST_RETRY_MS;
    } catch (error) {
      if (!stopped && !of.away) later(of, error);
    }
    of.open -= left;
    slots.giveBack(left);
  };

  const later = (of: PullState, error: unknown): void => {
    of.away = true;
    onTrouble(of.hash, error);
    const retry = setTimeout(() => {
      retries.delete(retry);
      of.away = false;
      pump();
    }, of.retryMs);
    retries.add(retry);
    of.retryMs = Math.min(of.retryMs * 2, LAST_RETRY_MS);
  };

  pump();
  return {
    stop: (): void => {
      stopped = true;
      for (const retry of retries) clearTimeout(retry);
      for (const { source } of asked) source.stop();
    },
  };
};
