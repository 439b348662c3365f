import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { type EffectState, type Deferral, isWaiting } from '../../effect/state.ts';
import type { Circuits } from './circuits.ts';

/** Why an order waits, as far as this executor knows. */
export type WhyWaiting = {
  /** False: all circuits are closed. */
  readonly any: () => boolean;
  readonly of: (state: EffectState) => string | undefined;
  /** The open circuit that defers an order, if any. */
  readonly deferralOf: (order: RunEffect) => Deferral | undefined;
};

export const createWhyWaiting = (
  targetOf: (order: RunEffect) => string | undefined,
  circuits: Pick<Circuits, 'states' | 'whyWaiting'>,
): WhyWaiting => {
  const heldBy = (order: RunEffect): Deferral | undefined => {
    const target = targetOf(order);
    const reason = target === undefined ? undefined : circuits.whyWaiting(target);
    return target === undefined || reason === undefined ? undefined : { target, reason };
  };
  return {
    any: () => circuits.states().some(({ state }) => state !== 'closed'),
    of: (state) => (isWaiting(state) ? heldBy(state.entry.order)?.reason : undefined),
    deferralOf: heldBy,
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
