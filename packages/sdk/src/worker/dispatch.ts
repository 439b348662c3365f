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
  /** A pull failed. `again`: so did the one before it. */
  readonly onTrouble: (hash: string, error: unknown, again: boolean) => void;
  /** The first pull that works after such a failure. */
  readonly onRecovery: (hash: string) => void;
};

type PullState = {
  readonly hash: string;
  readonly source: OrderSource;
  /** Orders that its pull may still deliver. */
  open: number;
  running: number;
  /** Orders of its next pull: doubled after a full pull, reset after an idle one. */
  wants: number;
  turn: number;
  retryMs: number;
  away: boolean;
  /** The latest pull failed. */
  failing: boolean;
};

/**
 * Pulls orders of several versions, in total at most as many as there are free slots. With enough slots, each
 * version always has a running phase or an open pull, so that a busy version never delays another one.
 */
export const createDispatch = ({ sources, concurrency, take, onTrouble, onRecovery }: DispatchParts) => {
  const wantsAtRest = sources.size === 1 ? concurrency : 1;
  const versions: PullState[] = [...sources].map(([hash, source]) => ({
    hash,
    source,
    open: 0,
    running: 0,
    wants: wantsAtRest,
    turn: 0,
    retryMs: FIRST_RETRY_MS,
    away: false,
    failing: false,
  }));
  const isScarce = concurrency < versions.length;
  const withinMs = isScarce ? TURN_MS : PULL_MS;
  const retries = new Set<NodeJS.Timeout>();
  let stopped = false;
  let turns = 0;

  const slots = createSlots(concurrency, () => pump());

  /** The slots that a version may take: the last one of each version without a phase and a pull is its own. */
  const roomFor = (of: PullState): number => {
    if (isScarce) return slots.free();
    const others = versions.filter((other) => other !== of && other.open === 0 && other.running === 0);
    return slots.free() - others.length;
  };

  /** The version that has waited longest. */
  const next = (): PullState | undefined =>
    versions
      .filter((of) => !of.away && of.open === 0 && roomFor(of) > 0)
      .sort((one, other) => one.turn - other.turn)[0];

  const pump = (): void => {
    while (!stopped && slots.free() > 0) {
      const of = next();
      if (of === undefined) return;
      void ask(of, slots.take(Math.min(of.wants, roomFor(of))));
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
        of.running += 1;
        void take(of.hash, order).finally(() => {
          of.running -= 1;
          slots.giveBack(1);
        });
      });
      of.retryMs = FIRST_RETRY_MS;
      if (of.failing) onRecovery(of.hash);
      of.failing = false;
    } catch (error) {
      if (!stopped && !of.away) later(of, error);
    }
    of.wants = left === 0 ? Math.min(of.wants * 2, concurrency) : wantsAtRest;
    of.open -= left;
    slots.giveBack(left);
    pump();
  };

  const later = (of: PullState, error: unknown): void => {
    of.away = true;
    onTrouble(of.hash, error, of.failing);
    of.failing = true;
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
      for (const { source } of versions) source.stop();
    },
  };
};
