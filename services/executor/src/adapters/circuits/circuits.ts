import type { CircuitState, ReportCircuit } from '@holdpoint/contracts/recovery/circuit';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { CleanFailure } from '../../ports/capability.ts';
import { type Breaker, type BreakerRules, createBreaker, type Verdict, verdictOn } from './breaker.ts';

/** The state of a circuit, as recovery publishes it. */
export type CircuitUpdate = {
  readonly target: string;
  readonly state: CircuitState;
  /** While it is half open: the executor that may try. */
  readonly executor?: string | undefined;
};

type Circuit = {
  readonly target: string;
  readonly breaker: Breaker;
  published: Omit<CircuitUpdate, 'target'>;
  /** The reason in the latest report to recovery. */
  reason: string;
  reportedAt: number;
  /** When this executor last changed the state itself: recovery may not know it yet. */
  changedAt: number;
};

export type CircuitParts = {
  /** The unique name of this executor. */
  readonly self: string;
  readonly rules: BreakerRules;
  /** Maximum orders at one target at a time. */
  readonly targetMax: number;
  readonly clock: Clock;
  /** Reports a finding to recovery; false when it could not be sent. */
  readonly report: (report: ReportCircuit) => boolean;
  /** Whether an order waits for a target, and the notification that its limit has changed. */
  readonly slots: {
    readonly isWaitedFor: (target: string) => boolean;
    readonly changed: (target: string) => void;
  };
  readonly log: Logger;
};

/** After this silence of recovery, every executor uses its own breakers. */
const OUT_OF_TOUCH_MS = 15_000;
/** A report without a visible effect is sent again after this. */
const REPORT_AGAIN_MS = 3_000;
/** A snapshot of recovery that was requested up to this time after a local change may miss it. */
const SETTLE_MS = 1_000;
const LOOK_MS = 500;
const REASON_MAX = 1_000;

/**
 * The circuits of outside targets, as seen by this executor. Each executor counts failures itself and reports to
 * recovery. Recovery publishes the state to all, and assigns the trial slot to one executor at a time. Without
 * recovery the executor uses its own breakers.
 */
export const createCircuits = ({ self, rules, targetMax, clock, report, slots, log }: CircuitParts) => {
  const circuits = new Map<string, Circuit>();
  /** The verdict on each error, made while its abort signal was known. */
  const verdicts = new WeakMap<object, Verdict>();
  let lastUpdateAt = -Infinity;
  /** Ends the looks. Without circuits there are none. */
  let looking: (() => void) | undefined;

  const isInTouch = (): boolean => clock.now() - lastUpdateAt < OUT_OF_TOUCH_MS;

  const circuitOf = (target: string): Circuit => {
    const known = circuits.get(target);
    if (known !== undefined) return known;
    const breaker = createBreaker(
      target,
      rules,
      (error) => (typeof error === 'object' && error !== null ? verdicts.get(error) : undefined) ?? 'nothing',
      () => slots.changed(target),
    );
    const circuit: Circuit = {
      target,
      breaker,
      published: { state: 'closed' },
      reason: '',
      reportedAt: -Infinity,
      changedAt: -Infinity,
    };
    circuits.set(target, circuit);
    looking ??= clock.every(LOOK_MS, lookAtAll);
    return circuit;
  };
  const mayTry = ({ published }: Circuit): boolean =>
    published.state === 'half_open' && published.executor === self && isInTouch();

  const stateOf = (circuit: Circuit): CircuitState => {
    const { published, breaker } = circuit;
    return published.state !== 'closed' && isInTouch() ? published.state : breaker.state();
  };

  const limitOf = (circuit: Circuit): number => {
    const { published, breaker } = circuit;
    if (published.state !== 'closed' && isInTouch()) return mayTry(circuit) ? 1 : 0;
    switch (breaker.state()) {
      case 'closed':
        return targetMax;
      case 'open':
        return 0;
      case 'half_open':
        // While recovery is reachable, it assigns the trial.
        return isInTouch() ? 0 : 1;
    }
  };

  const sendReport = (circuit: Circuit, state: CircuitState, reason?: string): void => {
    const { target } = circuit;
    const message = { target, state, executor: self, ...(reason !== undefined && { reason }) };
    if (report(message)) circuit.reportedAt = clock.now();
  };

  const changeState = (circuit: Circuit, state: 'open' | 'closed', reason: string): void => {
    log.warn({ target: circuit.target, state, reason }, 'circuit');
    circuit.published = { state };
    circuit.changedAt = clock.now();
    circuit.reason = reason;
    if (state === 'open') circuit.breaker.open();
    else circuit.breaker.renew();
    sendReport(circuit, state, reason);
    slots.changed(circuit.target);
  };

  /** The trial that recovery assigned to this executor has ended. */
  const trialEnded = (circuit: Circuit, verdict: Verdict, reason: string): void => {
    if (verdict === 'fails') changeState(circuit, 'open', reason);
    else if (verdict === 'is_there') changeState(circuit, 'closed', reason);
  };

  /** Any other try has ended. */
  const tryEnded = (circuit: Circuit, wasHalfOpen: boolean, verdict: Verdict, reason: string): void => {
    const { breaker, published } = circuit;
    // The breaker counts an inconclusive try as a success.
    if (wasHalfOpen && verdict === 'nothing') breaker.open();
    const state = breaker.state();
    if (wasHalfOpen && state === 'closed') changeState(circuit, 'closed', reason);
    else if (state === 'open' && published.state === 'closed' && verdict === 'fails') {
      circuit.reason = reason;
      log.warn({ target: circuit.target, state, reason }, 'circuit');
      sendReport(circuit, 'open', reason);
    }
  };

  const judge = (error: unknown, signal: AbortSignal): readonly [Verdict, string] => {
    const verdict = verdictOn(error, signal);
    if (typeof error === 'object' && error !== null) verdicts.set(error, verdict);
    const message = error instanceof Error ? error.message : String(error);
    return [verdict, message.slice(0, REASON_MAX).toWellFormed()];
  };

  const update = ({ target, ...published }: CircuitUpdate): void => {
    const known = circuits.get(target);
    if (known === undefined && published.state === 'closed') return;
    const circuit = known ?? circuitOf(target);
    const before = circuit.published.state;
    circuit.published = published;
    if (published.state === 'open') circuit.breaker.open();
    if (published.state === 'closed' && before !== 'closed') circuit.breaker.renew();
    if (published.state !== 'closed' || before !== 'closed') look(circuit);
  };

  /** Sends a due report again: an earlier one may be lost. */
  const look = (circuit: Circuit): void => {
    const { target, published, breaker, reportedAt } = circuit;
    const isDue = clock.now() - reportedAt >= REPORT_AGAIN_MS;
    if (published.state === 'half_open' && published.executor === undefined) {
      if (isDue && slots.isWaitedFor(target)) sendReport(circuit, 'half_open');
    } else if (published.state === 'closed' && breaker.state() !== 'closed' && isDue)
      sendReport(circuit, 'open', circuit.reason);
    slots.changed(target);
  };

  const lookAtAll = (): void => {
    for (const circuit of circuits.values()) {
      if (circuit.published.state === 'closed' && circuit.breaker.isIdle()) {
        circuit.breaker.stop();
        circuits.delete(circuit.target);
      } else if (stateOf(circuit) !== 'closed' || circuit.published.state !== 'closed') look(circuit);
    }
    if (circuits.size === 0) endLooks();
  };
  const endLooks = (): void => {
    looking?.();
    looking = undefined;
  };

  return {
    limitOf: (target: string): number => {
      const circuit = circuits.get(target);
      return circuit === undefined ? targetMax : limitOf(circuit);
    },
    /** Runs a call to a target, and counts its result. */
    guard: async <Result>(
      target: string | undefined,
      signal: AbortSignal,
      run: () => Promise<Result>,
    ): Promise<Result> => {
      if (target === undefined) return run();
      const circuit = circuitOf(target);
      const { breaker } = circuit;
      const isTrial = mayTry(circuit);
      const wasHalfOpen = !isTrial && breaker.state() === 'half_open';
      let end: readonly [Verdict, string] = ['is_there', 'it answered'];
      const watched = async (): Promise<Result> => {
        try {
          return await run();
        } catch (error) {
          end = judge(error, signal);
          throw error;
        }
      };
      try {
        return await (isTrial ? watched() : breaker.fire(watched));
      } catch (error) {
        if (isTrial || !breaker.isRefusal(error)) throw error;
        // It had a slot before the circuit opened: nothing was sent.
        end = ['nothing', ''];
        throw new CleanFailure(
          errorBody('EXECUTOR_TARGET_UNAVAILABLE', `The circuit of ${target} is open`),
          error,
        );
      } finally {
        if (isTrial) trialEnded(circuit, ...end);
        else tryEnded(circuit, wasHalfOpen, ...end);
      }
    },
    /** Recovery published the state of one circuit. */
    update: (published: CircuitUpdate): void => {
      lastUpdateAt = clock.now();
      update(published);
    },
    /** A snapshot of all circuits, requested from recovery at `askedAt` by this executor's clock. */
    updateAll: (all: readonly CircuitUpdate[], askedAt: number): void => {
      lastUpdateAt = clock.now();
      const listed = new Map(all.map((published) => [published.target, published]));
      for (const target of circuits.keys())
        if (!listed.has(target)) listed.set(target, { target, state: 'closed' });
      for (const published of listed.values()) {
        const changedAt = circuits.get(published.target)?.changedAt ?? -Infinity;
        if (changedAt + SETTLE_MS < askedAt) update(published);
      }
    },
    /** All circuits and their states, for metrics. */
    states: (): readonly { readonly target: string; readonly state: CircuitState }[] =>
      [...circuits.values()].map((circuit) => ({ target: circuit.target, state: stateOf(circuit) })),
    /** Why an order for a target waits, even if slots are free. */
    whyWaiting: (target: string): string | undefined => {
      const circuit = circuits.get(target);
      if (circuit === undefined || stateOf(circuit) === 'closed') return undefined;
      return `the circuit of ${target} is ${stateOf(circuit) === 'open' ? 'open' : 'half open'}`;
    },
    stop: (): void => {
      endLooks();
      for (const { breaker } of circuits.values()) breaker.stop();
    },
  };
};
export type Circuits = ReturnType<typeof createCircuits>;
export type CircuitGuard = Circuits['guard'];
