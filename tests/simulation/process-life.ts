import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Timeline } from './timeline.ts';

/**
 * One run of a process, from its start to its end. Whatever is to happen inside goes through `enter`: when the process is
 * dead it does not happen, and while it is frozen it waits.
 */
export type Life = {
  readonly name: string;
  readonly isAlive: () => boolean;
  readonly enter: (step: () => void) => void;
  /** As SIGSTOP does; SIGCONT comes after `ms`. */
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
    // It may be called off while it waits for the process to thaw.
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
