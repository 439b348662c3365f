import type { Clock } from '@holdpoint/runtime/engine/clock';

type TimelineStep = { readonly at: number; readonly order: number; readonly step: () => void };

/** The only time that there is in a test. Milliseconds since it began. */
export type Timeline = {
  readonly now: () => number;
  readonly after: (ms: number, step: () => void) => () => void;
  /** When something happens next. */
  readonly nextAt: () => number | undefined;
  /** Moves the time there, and lets happen what is due by then. */
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

/** A process's own clock: it stands still for good when the process has died. */
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
