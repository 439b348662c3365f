import { onErrorData } from './on-error.ts';
import type { AnyPhase } from './phase.ts';

const names = (...wanted: readonly unknown[]): readonly string[] =>
  [...new Set(wanted)].filter((name) => typeof name === 'string');

/** The possible next phases; unknown for a function. */
const nextData = (next: unknown, ...more: readonly unknown[]): { readonly next?: readonly string[] } =>
  typeof next === 'string' ? { next: names(next, ...more) } : {};

/** The registered form of a phase. The contract's schema reports its mistakes. */
export const phaseData = (id: string, phase: AnyPhase): object => {
  if (phase.type === 'terminal') return { type: 'terminal', id, outcome: phase.spec.outcome ?? 'succeeded' };
  const { onError, next } = phase.spec;
  const common = { type: phase.type, id, ...(onError && { onError: onErrorData(onError) }) };
  switch (phase.type) {
    case 'agent':
      return { ...common, ...nextData(next, phase.spec.human?.onExpired) };
    case 'human':
      return { ...common, input: phase.spec.input.kind, ...nextData(next, phase.spec.onExpired) };
    case 'effect':
      return { ...common, ...nextData(next, phase.spec.onRejected) };
  }
};
