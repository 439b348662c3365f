import CircuitBreaker from 'opossum';
import { CleanFailure, OutcomeUnknown } from '../../ports/capability.ts';

/** The executor was too slow: nothing was sent. It says nothing about the target. */
export class LeaseOver extends CleanFailure {}

/** Thresholds of a circuit. */
export type BreakerRules = {
  /** The circuit does not open with fewer tries than this in the window. */
  readonly triesMin: number;
  readonly windowMs: number;
  /** After this time one order may try the target. */
  readonly openMs: number;
};

/** The circuit opens when more than this share of the tries failed. */
const FAILED_PERCENT = 50;
const BUCKETS = 10;

/** What one try shows about its target. */
export type Verdict = 'fails' | 'is_there' | 'nothing';

/** A refusing target is available. Cancelled tries, and errors before sending, prove nothing about it. */
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

/** One executor's own circuit breaker for one target. */
export const createBreaker = (
  target: string,
  rules: BreakerRules,
  says: (error: unknown) => Verdict,
  changed: () => void,
) => {
  const make = (): CircuitBreaker<[Try], unknown> => {
    const made = new CircuitBreaker<[Try], unknown>((run) => run(), {
      name: target,
      // Capabilities have their own time limits.
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
    /** Rethrows the error of the try, or throws the breaker's own error when the circuit is open. */
    fire: async <Result>(run: () => Promise<Result>): Promise<Result> => (await breaker.fire(run)) as Result,
    isRefusal: (error: unknown): boolean => error instanceof Error && CircuitBreaker.isOurError(error),
    open: (): void => breaker.open(),
    /** Resets all counts. */
    renew: (): void => {
      breaker.shutdown();
      breaker = make();
    },
    stop: (): void => breaker.shutdown(),
  };
};
export type Breaker = ReturnType<typeof createBreaker>;
