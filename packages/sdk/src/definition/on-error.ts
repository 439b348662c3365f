import type { Draft, Frozen } from './frozen.ts';
import type { ProgramOnError } from '@holdpoint/contracts/program/definition';
import type { PhaseError } from './context.ts';
import type { Prompt } from './ask.ts';

/** Before another attempt: changes the draft of the state that the phase began with. */
type OnRetry<State> = (error: PhaseError, draft: Draft<State>) => void;

type Retrying<State> = {
  readonly backoff?: 'fixed' | 'exponential';
  /** Before the first retry. Milliseconds; a second, when left out. */
  readonly delayMs?: number;
  readonly onRetry?: OnRetry<State>;
};

/**
 * What a failure leads to. `fail`: the task fails. `retry`: another attempt, so many times, and then the task fails.
 * `pause`: people are asked whether to try once more, each time; with `maxRetries` so many times, and then the task fails.
 */
export type OnErrorSpec<State> =
  | { readonly strategy: 'fail' }
  | (Retrying<State> & { readonly strategy: 'retry'; readonly maxRetries: number })
  | (Retrying<State> & {
      readonly strategy: 'pause';
      readonly maxRetries?: number;
      /** How people are asked; in general words, when left out. */
      readonly prompt?: (error: PhaseError, state: Frozen<State>) => Prompt;
    });

const DELAY_MS = 1_000;

/** The part of it that is data: what the orchestrator goes by. */
export const onErrorData = <State>(spec: OnErrorSpec<State>): ProgramOnError => {
  if (spec.strategy === 'fail')
    return { strategy: 'fail', maxRetries: 0, backoff: 'fixed', delayMs: DELAY_MS };
  const { strategy, maxRetries = 0, backoff = 'fixed', delayMs = DELAY_MS } = spec;
  return { strategy, maxRetries, backoff, delayMs };
};
