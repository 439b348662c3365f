import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

export type DriverParts = {
  readonly now: () => number;
  /** The time of the next step; undefined when there is none. */
  readonly nextAt: () => number | undefined;
  readonly moveTo: (time: number) => void;
  /** Whether a phase function is doing real work. */
  readonly isBusy: () => boolean;
  /** Resolves when no decision is pending. */
  readonly idle: () => Promise<void>;
  /** Whether time may pass by itself. */
  readonly maySkip: () => boolean;
  /** Whether something is certain to end, even if polled many times before. */
  readonly isAwaited: () => boolean;
  /** The number of task events. */
  readonly events: () => number;
  /** A phase function that is inactive for this long waits for the test's time. Real milliseconds. */
  readonly graceMs: number;
};

/** Event loop turns without activity, after which nothing is running. */
const QUIET_TURNS = 4;
/** Steps without an event, after which time passes in vain. */
const FRUITLESS_MAX = 500;

/**
 * Lets the time of a test pass: whenever nothing runs, it skips to the next step. At an open question it
 * stops until an answer or an `advance`.
 */
export const startDriver = (parts: DriverParts) => {
  const { now, nextAt, moveTo, isBusy, idle, maySkip, isAwaited, events, graceMs } = parts;
  let movements = 0;
  let stopped = false;
  let wake = (): void => undefined;
  let until: number | undefined;
  let fruitless = 0;
  let known = 0;
  const settled: (() => void)[] = [];
  const arrived: (() => void)[] = [];

  const stir = (): void => {
    movements += 1;
    wake();
  };

  const quiet = async (): Promise<void> => {
    let since = performance.now();
    let seen = movements;
    for (let turns = 0; !stopped;) {
      await turn();
      await idle();
      if (movements !== seen) {
        seen = movements;
        since = performance.now();
        turns = 0;
        continue;
      }
      turns += 1;
      if (turns < QUIET_TURNS) continue;
      if (!isBusy() || performance.now() - since > graceMs) return;
      await sleep(1);
    }
  };

  /** The next point in time; undefined: time stands still. */
  const target = (): number | undefined => {
    const next = nextAt();
    if (until !== undefined) return Math.min(next ?? until, until);
    return maySkip() && (fruitless < FRUITLESS_MAX || isAwaited()) ? next : undefined;
  };

  const rest = async (): Promise<void> => {
    for (const tell of settled.splice(0)) tell();
    const seen = movements;
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (movements !== seen || until !== undefined) resolve();
    });
    wake = () => undefined;
    fruitless = 0;
  };

  const run = async (): Promise<void> => {
    while (!stopped) {
      await quiet();
      if (events() !== known) {
        known = events();
        fruitless = 0;
      }
      const time = target();
      if (time === undefined) {
        await rest();
        continue;
      }
      fruitless += 1;
      moveTo(time);
      if (until !== undefined && now() >= until && (nextAt() ?? Infinity) > until) {
        until = undefined;
        await quiet();
        for (const tell of arrived.splice(0)) tell();
      }
    }
  };
  void run();

  return {
    stir,
    /** Resolves when nothing more happens by itself. */
    settled: (): Promise<void> =>
      new Promise((resolve) => {
        settled.push(resolve);
        stir();
      }),
    /** Lets this much time pass and resolves afterwards. */
    advance: (ms: number): Promise<void> =>
      new Promise((resolve) => {
        until = (until ?? now()) + ms;
        arrived.push(resolve);
        stir();
      }),
    stop: (): void => {
      stopped = true;
      wake();
      for (const tell of [...settled.splice(0), ...arrived.splice(0)]) tell();
    },
  };
};
