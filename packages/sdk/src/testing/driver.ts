import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

export type DriverParts = {
  readonly now: () => number;
  /** When something happens next; undefined when nothing does. */
  readonly nextAt: () => number | undefined;
  readonly moveTo: (time: number) => void;
  /** Whether a function of a phase has something to do that takes real time. */
  readonly isBusy: () => boolean;
  /** Resolves when nothing is decided any more. */
  readonly idle: () => Promise<void>;
  /** Whether time may pass by itself. */
  readonly maySkip: () => boolean;
  /** Whether something is certain to end, however often it is asked for until then. */
  readonly isAwaited: () => boolean;
  /** Counts events of tasks. */
  readonly events: () => number;
  /** A function that does nothing for so long waits for something that only time brings. Real milliseconds. */
  readonly graceMs: number;
};

/** Turns without any movement, after which nothing is under way. */
const QUIET_TURNS = 4;
/** Time that passes without an event so often brings none. */
const FRUITLESS_MAX = 500;

/**
 * Lets the time of a test pass: whenever nothing is under way, it goes on to what happens next. Where people are waited for,
 * it stands still until somebody says something, or moves it.
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

  /** Where time goes next; undefined: it stands still. */
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
    /** Moves the time by so much, and resolves when all of that has happened. */
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
