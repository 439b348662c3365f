import type { RunEffect } from '@holdpoint/contracts/effect';
import type { EffectState } from '../../domain/ledger.ts';
import type { Circuits } from './circuits.ts';

/** Why an order waits although nothing else stands in its way, as far as this executor knows. */
export type WhyWaiting = {
  /** False: there is no reason to look. */
  readonly any: () => boolean;
  readonly of: (state: EffectState) => string | undefined;
};

export const createWhyWaiting = (
  targetOf: (order: RunEffect) => string | undefined,
  circuits: Pick<Circuits, 'states' | 'whyWaiting'>,
): WhyWaiting => ({
  any: () => circuits.states().some(({ state }) => state !== 'closed'),
  of: (state) => {
    if (state.status !== 'prepared' && state.status !== 'in_doubt') return undefined;
    if (state.status === 'in_doubt' && state.next === 'person') return undefined;
    const target = targetOf(state.entry.order);
    return target === undefined ? undefined : circuits.whyWaiting(target);
  },
});
