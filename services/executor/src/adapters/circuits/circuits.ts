import type { CircuitState, ReportCircuit } from '@holdpoint/contracts/recovery/circuit';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { CleanFailure } from '../../ports/capability.ts';
import { type Breaker, type BreakerRules, createBreaker, type Verdict, verdictOn } from './breaker.ts';

/** What recovery says of a circuit. */
export type CircuitUpdate = {
  readonly target: string;
  readonly state: CircuitState;
  /** While it is half open: who may try. */
  readonly executor?: string | undefined;
};

type Circuit = {
  readonly target: string;
  readonly breaker: Breaker;
  said: Omit<CircuitUpdate, 'target'>;
  /** Why it was last told to recovery that it fails. */
  reason: string;
  toldAt: number;
  /** When this executor last knew better than recovery may have. */
  settledAt: number;
};

export type CircuitParts = {
  /** Its name among executors. */
  readonly self: string;
  readonly rules: BreakerRules;
  /** Orders that may be at one target at the same time. */
  readonly targetMax: number;
  readonly clock: Clock;
  /** Tells recovery what was found; false when that could not be sent. */
  readonly report: (report: ReportCircuit) => boolean;
  /** Whether an order waits for a target; and that the limit of one has changed. */
  readonly slots: {
    readonly isWaitedFor: (target: string) => boolean;
    readonly changed: (target: string) => void;
  };
  readonly log: Logger;
};

/** Without a word from recovery for so long, every executor goes by its own findings. */
const OUT_OF_TOUCH_MS = 15_000;
/** What recovery does not seem to have heard is told again after this. */
const TELL_AGAIN_MS = 3_000;
/** What recovery was asked before, or so shortly after, something was found here may not have it yet. */
const SETTLE_MS = 1_000;
const LOOK_MS = 500;
const REASON_MAX = 1_000;

/**
 * The circuits of outside targets, as this executor goes by them. Each executor counts for itself what fails; what one has
 * found it tells recovery, which tells all, and names one executor at a time that may try again. Without recovery it goes by
 * its own breakers.
 */
export const createCircuits = ({
  self,
  rules,
  targetMax,
  clock,
  report: tell,
  slots: places,
  log,
}: CircuitParts) => {
  const circuits = new Map<string, Circuit>();
  /** What each error said of its target, in the light of what had been called off. */
  const verdicts = new WeakMap<object, Verdict>();
  let heardAt = -Infinity;

  const isInTouch = (): boolean => clock.now() - heardAt < OUT_OF_TOUCH_MS;

  const circuitOf = (target: string): Circuit => {
    const known = circuits.get(target);
    if (known !== undefined) return known;
    const breaker = createBreaker(
      target,
      rules,
      (error) => (typeof error === 'object' && error !== null ? verdicts.get(error) : undefined) ?? 'nothing',
      () => places.changed(target),
    );
    const circuit: Circuit = {
      target,
      breaker,
      said: { state: 'closed' },
      reason: '',
      toldAt: -Infinity,
      settledAt: -Infinity,
    };
    circuits.set(target, circuit);
    return circuit;
  };
  const mayTry = ({ said }: Circuit): boolean =>
    said.state === 'half_open' && said.executor === self && isInTouch();

  const stateOf = (circuit: Circuit): CircuitState => {
    const { said, breaker } = circuit;
    return said.state !== 'closed' && isInTouch() ? said.state : breaker.state();
  };

  const limitOf = (circuit: Circuit): number => {
    const { said, breaker } = circuit;
    if (said.state !== 'closed' && isInTouch()) return mayTry(circuit) ? 1 : 0;
    switch (breaker.state()) {
      case 'closed':
        return targetMax;
      case 'open':
        return 0;
      case 'half_open':
        // Recovery names who may try, as long as it is there.
        return isInTouch() ? 0 : 1;
    }
  };

  const say = (circuit: Circuit, state: CircuitState, reason?: string): void => {
    const { target } = circuit;
    const told = { target, state, executor: self, ...(reason !== undefined && { reason }) };
    if (tell(told)) circuit.toldAt = clock.now();
  };

  const settle = (circuit: Circuit, state: 'open' | 'closed', reason: string): void => {
    log.warn({ target: circuit.target, state, reason }, 'circuit');
    circuit.said = { state };
    circuit.settledAt = clock.now();
    circuit.reason = reason;
    if (state === 'open') circuit.breaker.open();
    else circuit.breaker.renew();
    say(circuit, state, reason);
    places.changed(circuit.target);
  };

  /** What came of the one try that recovery has let this executor make. */
  const tried = (circuit: Circuit, verdict: Verdict, reason: string): void => {
    if (verdict === 'fails') settle(circuit, 'open', reason);
    else if (verdict === 'is_there') settle(circuit, 'closed', reason);
  };

  /** What came of any other. */
  const counted = (circuit: Circuit, wasHalfOpen: boolean, verdict: Verdict, reason: string): void => {
    const { breaker, said } = circuit;
    // The breaker takes what says nothing for a success.
    if (wasHalfOpen && verdict === 'nothing') breaker.open();
    const state = breaker.state();
    if (wasHalfOpen && state === 'closed') settle(circuit, 'closed', reason);
    else if (state === 'open' && said.state === 'closed' && verdict === 'fails') {
      circuit.reason = reason;
      log.warn({ target: circuit.target, state, reason }, 'circuit');
      say(circuit, 'open', reason);
    }
  };

  const judge = (error: unknown, signal: AbortSignal): readonly [Verdict, string] => {
    const verdict = verdictOn(error, signal);
    if (typeof error === 'object' && error !== null) verdicts.set(error, verdict);
    const message = error instanceof Error ? error.message : String(error);
    return [verdict, message.slice(0, REASON_MAX).toWellFormed()];
  };

  const update = ({ target, ...said }: CircuitUpdate): void => {
    const known = circuits.get(target);
    if (known === undefined && said.state === 'closed') return;
    const circuit = known ?? circuitOf(target);
    const before = circuit.said.state;
    circuit.said = said;
    if (said.state === 'open') circuit.breaker.open();
    if (said.state === 'closed' && before !== 'closed') circuit.breaker.renew();
    if (said.state !== 'closed' || before !== 'closed') look(circuit);
  };

  /** Does what is due: a circuit may be out of touch by now, or what was told have been lost. */
  const look = (circuit: Circuit): void => {
    const { target, said, breaker, toldAt } = circuit;
    const isDue = clock.now() - toldAt >= TELL_AGAIN_MS;
    if (said.state === 'half_open' && said.executor === undefined) {
      if (isDue && places.isWaitedFor(target)) say(circuit, 'half_open');
    } else if (said.state === 'closed' && breaker.state() !== 'closed' && isDue)
      say(circuit, 'open', circuit.reason);
    places.changed(target);
  };

  const endLooking = clock.every(LOOK_MS, () => {
    for (const circuit of circuits.values()) {
      if (circuit.said.state === 'closed' && circuit.breaker.isIdle()) {
        circuit.breaker.stop();
        circuits.delete(circuit.target);
      } else if (stateOf(circuit) !== 'closed' || circuit.said.state !== 'closed') look(circuit);
    }
  });

  return {
    limitOf: (target: string): number => {
      const circuit = circuits.get(target);
      return circuit === undefined ? targetMax : limitOf(circuit);
    },
    /** Carries something out at a target, and draws from it what it says of the target. */
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
        // It had its place when the circuit opened: nothing was sent.
        end = ['nothing', ''];
        throw new CleanFailure(
          errorBody('EXECUTOR_TARGET_UNAVAILABLE', `the circuit of ${target} is open`),
          error,
        );
      } finally {
        if (isTrial) tried(circuit, ...end);
        else counted(circuit, wasHalfOpen, ...end);
      }
    },
    /** Recovery has said something of one circuit. */
    update: (said: CircuitUpdate): void => {
      heardAt = clock.now();
      update(said);
    },
    /** All that recovery knew when it was asked, which is when this executor's clock showed `askedAt`. */
    updateAll: (all: readonly CircuitUpdate[], askedAt: number): void => {
      heardAt = clock.now();
      const listed = new Map(all.map((said) => [said.target, said]));
      for (const target of circuits.keys())
        if (!listed.has(target)) listed.set(target, { target, state: 'closed' });
      for (const said of listed.values()) {
        const settledAt = circuits.get(said.target)?.settledAt ?? -Infinity;
        if (settledAt + SETTLE_MS < askedAt) update(said);
      }
    },
    /** Every circuit that this executor goes by, for whoever watches. */
    states: (): readonly { readonly target: string; readonly state: CircuitState }[] =>
      [...circuits.values()].map((circuit) => ({ target: circuit.target, state: stateOf(circuit) })),
    /** Why an order for a target waits although there may be places. */
    whyWaiting: (target: string): string | undefined => {
      const circuit = circuits.get(target);
      if (circuit === undefined || stateOf(circuit) === 'closed') return undefined;
      return `the circuit of ${target} is ${stateOf(circuit) === 'open' ? 'open' : 'half open'}`;
    },
    stop: (): void => {
      endLooking();
      for (const { breaker } of circuits.values()) breaker.stop();
    },
  };
};
export type Circuits = ReturnType<typeof createCircuits>;
export type CircuitGuard = Circuits['guard'];
