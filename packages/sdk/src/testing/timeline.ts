import type { Clock } from '@holdpoint/runtime/engine/clock';

type TimelineStep = { readonly at: number; readonly order: number; readonly step: () => void };

/** The test's time, in milliseconds since its start. */
export type Timeline = {
  readonly now: () => number;
  readonly after: (ms: number, step: () => void) => () => void;
  /** The time of the next step. */
  readonly nextAt: () => number | undefined;
  /** Moves the time and runs all steps due by then. */
  readonly moveTo: (time: number) => void;
};

export const createTimeline = (): Timeline => {
  const ahead = new Set<TimelineStep>();
  let now = 0;
  let order = 0;

  const next = (): TimelineStep | undefined => {
    let first: TimelineStep | undefined;
    for (const each of ahead)
      if (first === undefined || each.at < first.at || (each.at === first.at && each.order < first.order))
        first = each;
    return first;
  };

  return {
    now: () => now,
    after: (ms, step) => {
      order += 1;
      const happening = { at: now + Math.max(0, ms), order, step };
      ahead.add(happening);
      return () => void ahead.delete(happening);
    },
    nextAt: () => next()?.at,
    moveTo: (time) => {
      for (let due = next(); due !== undefined && due.at <= time; due = next()) {
        ahead.delete(due);
        now = Math.max(now, due.at);
        due.step();
      }
      now = Math.max(now, time);
    },
  };
};

/** The clock of one process; it stops when the process dies. */
export const clockOf = (timeline: Timeline, isAlive: () => boolean): Clock => {
  const after = (ms: number, step: () => void): (() => void) =>
    timeline.after(ms, () => {
      if (isAlive()) step();
    });
  return {
    now: timeline.now,
    after,
    every: (ms, step) => {
      let callOff = (): void => undefined;
      const next = (): void => {
        callOff = after(ms, () => {
          step();
          next();
        });
      };
      next();
      return () => callOff();
    },
  };
};
