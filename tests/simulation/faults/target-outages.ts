import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { Deferral } from '@holdpoint/executor/effect/state';
import type { Timeline } from '../timeline.ts';

/** Targets that are unreachable for a while: their circuits are open, and effects on them wait. */
export type Away = {
  /** Undefined for work, which has no target. */
  readonly targetOf: (order: RunEffect) => string | undefined;
  readonly heldBy: (order: RunEffect) => () => Deferral | undefined;
  readonly isAway: (target: string) => boolean;
  readonly goAway: (target: string, ms: number) => void;
  /** Called for each target that is reachable again. */
  readonly whenBack: (step: (target: string) => void) => void;
};

/** Few, so that one outage defers many effects. */
export const TARGETS = ['outside:0', 'outside:1', 'outside:2'] as const;

export const createAway = (timeline: Timeline): Away => {
  const until = new Map<string, number>();
  const heard: ((target: string) => void)[] = [];
  const isAway = (target: string): boolean => timeline.now() < (until.get(target) ?? 0);
  const targetOf = ({ id, effect }: RunEffect): string | undefined =>
    effect.kind === 'work' ? undefined : TARGETS[id.charCodeAt(id.length - 1) % TARGETS.length];
  return {
    targetOf,
    isAway,
    heldBy: (order) => {
      const target = targetOf(order);
      return () =>
        target !== undefined && isAway(target) ? { target, reason: `${target} is away` } : undefined;
    },
    goAway: (target, ms) => {
      const back = timeline.now() + ms;
      if (back <= (until.get(target) ?? 0)) return;
      until.set(target, back);
      timeline.in(ms, () => {
        if (!isAway(target)) for (const step of heard) step(target);
      });
    },
    whenBack: (step) => void heard.push(step),
  };
};
