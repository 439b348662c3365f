import type { Choices } from '../choices.ts';
import type { Timeline } from '../timeline.ts';
import type { Trace } from '../trace.ts';

/**
 * Each fault has a name made of the place where it strikes, so that a failing run can be repeated without it.
 * After `calmAt` no fault strikes.
 */
export type Weather = {
  readonly strikes: (fault: Fault, place: string) => boolean;
  /** The same for several faults of which at most one may strike. */
  readonly oneOf: <Kind extends Fault>(place: string, faults: readonly Kind[]) => Kind | undefined;
  /** The duration of a step: mostly short, sometimes very long. */
  readonly latency: (place: string) => number;
  /** Runs the step after a latency; after `calmAt` at once. */
  readonly send: (place: string, step: () => void) => void;
  readonly isCalm: () => boolean;
  readonly struck: () => readonly string[];
};

export type WeatherSettings = {
  readonly calmAt: number;
  /** 0: no faults; 1: the rates below; higher: more faults. */
  readonly severity: number;
  /** The names of faults that must not strike. */
  readonly without: ReadonlySet<string>;
};

/** How often each fault strikes where it can. */
const RATES = {
  'store refuses the call': 0.002,
  'commit loses a race': 0.004,
  'commit stands, its answer is lost': 0.004,
  'commit is lost, and so is its answer': 0.004,
  'crash before the commit': 0.002,
  'crash after the commit': 0.003,
  'another process takes over before the commit': 0.004,
  'crash before the publish': 0.002,
  'crash after the publish': 0.002,
  'publish is lost': 0.015,
  'confirmation is lost': 0.015,
  'publish arrives late': 0.01,
  'message is doubled': 0.04,
  'acknowledgement is lost': 0.006,
  'acknowledged message comes again': 0.01,
  'request is lost': 0.01,
  'request is delayed': 0.01,
  'answer is lost': 0.01,
  'end of a program is missed': 0.3,
  'target applies and fails': 0.03,
  'target refuses': 0.02,
  'crash while the request is under way': 0.006,
  'freeze before the request leaves': 0.01,
  'freeze while the request is under way': 0.01,
  'answer is slow': 0.15,
  'timer comes long after it is due': 0.02,
  'caller does not hear the answer': 0.02,
  'surface is away': 0.05,
  'recovery dies before it sends a verdict': 0.03,
  'message of recovery is forgotten': 0.05,
  'message of recovery is overtaken': 0.05,
  'circuit fact is missed': 0.2,
  'hand-off is lost': 0.25,
  'job takes its worker down': 0.015,
  'worker dies before its message': 0.01,
  'worker dies after its message arrived': 0.012,
  'worker freezes before its message': 0.01,
  'message of a worker is lost': 0.015,
  'message of a worker is doubled': 0.02,
  'news of a task is lost': 0.1,
  'request of a claimant is lost': 0.02,
  'request of a claimant is doubled': 0.03,
  'answer to a claimant is lost': 0.03,
  'order of a claimant is changed': 0.03,
  'end of a claimant is forged': 0.2,
  'claimant freezes before its request': 0.05,
  'claimant freezes in its effect': 0.05,
  'claimant dies in its effect': 0.05,
  'claimant dies before its end is answered': 0.05,
  'receiver of a callback is away': 0.3,
  'answer of a receiver is lost': 0.15,
  'receiver wants no more callbacks': 0.05,
  'message cannot be read': 0.006,
  'message cannot be handled': 0.006,
  'submission by a task cannot be handled': 0.1,
} as const;
export type Fault = keyof typeof RATES;
const OF_CLAIMANTS = /claimant|receiver/;
const ALL = Object.keys(RATES) as readonly Fault[];
/** They strike only in runs with effects of claimants. */
export const CLAIMANT_FAULTS = ALL.filter((fault) => OF_CLAIMANTS.test(fault));
export const FAULTS = ALL.filter((fault) => !OF_CLAIMANTS.test(fault));

const USUALLY_MS = 3;
const SLOW = 0.01;
const SLOW_MS = 1_500;

export const createWeather = (
  choices: Choices,
  timeline: Timeline,
  trace: Trace,
  { calmAt, severity, without }: WeatherSettings,
): Weather => {
  const struck: string[] = [];
  const isCalm = (): boolean => severity === 0 || timeline.now() >= calmAt;

  const oneOf = <Kind extends Fault>(place: string, faults: readonly Kind[]): Kind | undefined => {
    if (isCalm()) return undefined;
    let drawn = choices.number(place) / severity;
    const fault = faults.find((each) => (drawn -= RATES[each]) < 0);
    const name = `${String(fault)} @ ${place}`;
    if (fault === undefined || without.has(name)) return undefined;
    struck.push(name);
    trace.fault(name);
    return fault;
  };

  const latency = (place: string): number => {
    const drawn = choices.number(place);
    const slow = isCalm() ? 0 : SLOW * severity;
    return drawn < slow ? USUALLY_MS + (drawn / slow) * SLOW_MS : drawn * USUALLY_MS;
  };

  return {
    isCalm,
    latency,
    // Between sending and arriving a process may die. After `calmAt` no process dies.
    send: (place, step) => (isCalm() ? step() : void timeline.in(latency(place), step)),
    struck: () => struck,
    oneOf,
    strikes: (fault, place) => oneOf(place, [fault]) === fault,
  };
};
