import CircuitBreaker from 'opossum';
import { CleanFailure, OutcomeUnknown } from '../../ports/capability.ts';

/** The executor was too slow: nothing was sent, and nothing is known of the target by it. */
export class LeaseOver extends CleanFailure {}

/** What a circuit goes by. */
export type BreakerRules = {
  /** With fewer tries than this in the window nothing is made of their failures. */
  readonly triesMin: number;
  readonly windowMs: number;
  /** So long after it was opened one order may try. */
  readonly openMs: number;
};

/** It opens when more than half of what was tried in the window has failed. */
const FAILED_PERCENT = 50;
const BUCKETS = 10;

/** What the end of one try says of its target: it fails, it is there, or nothing. */
export type Verdict = 'fails' | 'is_there' | 'nothing';

/** A target that refuses is there; whatever was called off, or was wrong before it left, says nothing of the target. */
export const verdictOn = (error: unknown, signal: AbortSignal): Verdict => {
  if (signal.aborted || error instanceof LeaseOver) return 'nothing';
  if (error instanceof OutcomeUnknown) return 'fails';
  if (!(error instanceof CleanFailure)) return 'nothing';
  switch (error.body.code) {
    case 'EXECUTOR_TARGET_UNAVAILABLE':
      return 'fails';
    case 'EXECUTOR_TARGET_REFUSED':
      return 'is_there';
    default:
      return 'nothing';
  }
};

type Try = () => Promise<unknown>;

/** One executor's own finding on one target. */
export const createBreaker = (
  target: string,
  rules: BreakerRules,
  says: (error: unknown) => Verdict,
  changed: () => void,
) => {
  const make = (): CircuitBreaker<[Try], unknown> => {
    const made = new CircuitBreaker<[Try], unknown>((run) => run(), {
      name: target,
      // Capabilities have time limits of their own, which say what is known when they are over.
      timeout: false,
      errorThresholdPercentage: FAILED_PERCENT,
      volumeThreshold: rules.triesMin,
      rollingCountTimeout: rules.windowMs,
      rollingCountBuckets: BUCKETS,
      rollingPercentilesEnabled: false,
      enableSnapshots: false,
      resetTimeout: rules.openMs,
      errorFilter: (error: unknown) => says(error) !== 'fails',
    });
    made.on('open', changed).on('close', changed).on('halfOpen', changed);
    return made;
  };
  let breaker = make();

  return {
    state: (): 'closed' | 'open' | 'half_open' =>
      breaker.closed ? 'closed' : breaker.halfOpen ? 'half_open' : 'open',
    isIdle: (): boolean => breaker.closed && breaker.stats.fires === 0,
    /** Throws what the try throws, or an error of the breaker's own when it lets nothing through. */
    fire: async <Result>(run: () => Promise<Result>): Promise<Result> => (await breaker.fire(run)) as Result,
    isRefusal: (error: unknown): boolean => error instanceof Error && CircuitBreaker.isOurError(error),
    open: (): void => breaker.open(),
    /** As if nothing had failed: what it counted is gone. */
    renew: (): void => {
      breaker.shutdown();
      breaker = make();
    },
    stop: (): void => breaker.shutdown(),
  };
};
export type Breaker = ReturnType<typeof createBreaker>;
