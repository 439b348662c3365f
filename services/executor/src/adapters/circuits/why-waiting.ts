import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { type EffectState, type Deferral, isWaiting } from '../../effect/state.ts';
import type { Circuits } from './circuits.ts';

/** Tells, as often as it is asked, which open circuit defers an order. Between the questions it keeps only the target. */
export type DeferralOf = (order: RunEffect) => () => Deferral | undefined;

/** Why an order waits, as far as this executor knows. */
export type WhyWaiting = {
  /** False: all circuits are closed. */
  readonly any: () => boolean;
  readonly of: (state: EffectState) => string | undefined;
  readonly deferralOf: DeferralOf;
};

export const createWhyWaiting = (
  targetOf: (order: RunEffect) => string | undefined,
  circuits: Pick<Circuits, 'states' | 'whyWaiting'>,
): WhyWaiting => {
  const deferralOf: DeferralOf = (order) => {
    const target = targetOf(order);
    return () => {
      const reason = target === undefined ? undefined : circuits.whyWaiting(target);
      return target === undefined || reason === undefined ? undefined : { target, reason };
    };
  };
  return {
    any: () => circuits.states().some(({ state }) => state !== 'closed'),
    of: (state) => (isWaiting(state) ? deferralOf(state.entry.order)()?.reason : undefined),
    deferralOf,
  };
};

/** The same, for orders that wait for the journals of other executors first. */
export const waitingForJournals = (
  { any, of, deferralOf }: WhyWaiting,
  waitsFor: () => readonly string[],
): WhyWaiting => ({
  any: () => waitsFor().length > 0 || any(),
  of: (state) => {
    const names = waitsFor();
    if (names.length === 0 || !isWaiting(state)) return of(state);
    return `waits for the journal of ${names.slice(0, 3).join(', ')}${names.length > 3 ? ' and others' : ''}`;
  },
  deferralOf,
});
