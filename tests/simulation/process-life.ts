import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Timeline } from './timeline.ts';

/** One life of a process. All work runs through `enter`: a dead process drops it, a frozen one delays it. */
export type Life = {
  readonly name: string;
  readonly isAlive: () => boolean;
  readonly enter: (step: () => void) => void;
  /** SIGSTOP, and SIGCONT after `ms`. */
  readonly freeze: (ms: number) => void;
  readonly isFrozen: () => boolean;
  readonly end: () => void;
  readonly atEnd: (step: () => void) => void;
  readonly clock: Clock;
};

export const createLife = (name: string, timeline: Timeline): Life => {
  let alive = true;
  let frozenUntil = 0;
  const ends: (() => void)[] = [];

  const enter = (step: () => void): void => {
    if (!alive) return;
    if (timeline.now() < frozenUntil) timeline.in(frozenUntil - timeline.now(), () => enter(step));
    else {
      timeline.stir();
      step();
    }
  };

  const after = (ms: number, step: () => void): (() => void) => {
    // The caller may cancel it while the process is frozen.
    let wanted = true;
    timeline.in(ms, () => {
      enter(() => {
        if (wanted) step();
      });
    });
    return () => {
      wanted = false;
    };
  };

  const every = (ms: number, step: () => void): (() => void) => {
    let callOff: () => void;
    const plan = (): void => {
      callOff = after(ms, () => {
        plan();
        step();
      });
    };
    plan();
    return () => callOff();
  };

  const clock: Clock = { now: timeline.now, after, every };

  return {
    name,
    isAlive: () => alive,
    isFrozen: () => timeline.now() < frozenUntil,
    enter,
    clock,
    freeze: (ms) => {
      frozenUntil = Math.max(frozenUntil, timeline.now() + ms);
    },
    end: () => {
      if (!alive) return;
      alive = false;
      for (const step of ends) step();
    },
    atEnd: (step) => void ends.push(step),
  };
};
