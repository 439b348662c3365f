import type { Draft, Frozen } from './frozen.ts';
import type { ProgramOnError } from '@holdpoint/contracts/program/definition';
import type { PhaseError } from './context.ts';
import type { Prompt } from './ask.ts';

/**
 * Changes the state before another attempt. Each attempt starts from the last state of `onRetry`, at first from that
 * of the start of the phase; changes by a failed attempt are discarded.
 */
type OnRetry<State> = (error: PhaseError, draft: Draft<State>) => void;

type RetryOptions<State> = {
  readonly backoff?: 'fixed' | 'exponential';
  /** Before the first retry, in milliseconds; 1000 by default. */
  readonly delayMs?: number;
  readonly onRetry?: OnRetry<State>;
};

/**
 * The reaction to a failure. `fail`: the task fails. `retry`: up to `maxRetries` further attempts (0), then the
 * task fails. `pause`: an operator decides about each further attempt; with `maxRetries`, the task fails
 * after that many.
 */
export type OnErrorSpec<State> =
  | { readonly strategy: 'fail' }
  | (RetryOptions<State> & { readonly strategy: 'retry'; readonly maxRetries?: number })
  | (RetryOptions<State> & {
      readonly strategy: 'pause';
      readonly maxRetries?: number;
      /** The text of that question; a general text by default. */
      readonly prompt?: (error: PhaseError, state: Frozen<State>) => Prompt;
    });

const DELAY_MS = 1_000;

/** The part for the orchestrator, as data. */
export const onErrorData = <State>(spec: OnErrorSpec<State>): ProgramOnError => {
  if (spec.strategy === 'fail')
    return { strategy: 'fail', maxRetries: 0, backoff: 'fixed', delayMs: DELAY_MS };
  const { strategy, maxRetries = 0, backoff = 'fixed', delayMs = DELAY_MS } = spec;
  return { strategy, maxRetries, backoff, delayMs };
};
