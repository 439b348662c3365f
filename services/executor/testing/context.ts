import type { EffectContext } from '../src/ports/capability.ts';
import { bareOrderFor } from './orders.ts';

/** What a capability is run with, as far as its test does not say otherwise. */
export const contextFor = (change: Partial<EffectContext> = {}): EffectContext => ({
  effectId: 'e-1',
  order: bareOrderFor(),
  epoch: 3,
  signal: new AbortController().signal,
  assertInForce: () => undefined,
  secrets: { fill: (text) => text },
  say: () => undefined,
  ...change,
});
