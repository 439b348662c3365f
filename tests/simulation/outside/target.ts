import type { Json } from '@holdpoint/contracts/values/json';
import type { Choices } from '../choices.ts';
import type { Timeline } from '../timeline.ts';
import type { Weather } from '../faults/fault-rates.ts';

/** What reached the target: the ground truth. */
export type Application = {
  readonly effect: string;
  readonly uses: string;
  readonly args: Json;
};

export type Answer = 'applied' | 'error';

/**
 * The external target. A `keyed` target remembers keys, a `fenced` one rejects changed state, an `opaque` one
 * applies every request. A `probeable` one does too, and answers probes.
 */
export type Target = {
  /** Sends a request. Both the request and its answer may be late or lost. */
  readonly send: (request: Application, answered: (answer: Answer) => void) => void;
  /** Starts a process beside the executor. Unlike a request it can be ended, and then it has no effect. */
  readonly launch: (request: Application, answered: (answer: Answer) => void) => Program;
  readonly applications: (effect: string) => number;
  /** A stage or a script ran. */
  readonly worked: (work: Application) => void;
  readonly runs: (work: string) => number;
  /** Artifacts in the repositories. */
  readonly put: (repository: string, label: string) => void;
  readonly has: (repository: string, label: string) => boolean;
};

export type Program = {
  readonly end: () => void;
  /** Acts at once instead of later. */
  readonly hurry: () => void;
};

export type TargetWatchers = {
  readonly appliesOnce: (uses: string) => boolean;
  readonly applied: (application: Application) => void;
  readonly worked: (work: Application) => void;
};

/** The longest delay of a request. After it a negative answer of the target is final. */
export const LATE_MS = 60_000;
const SLOW_MS = 8_000;

export const createTarget = (
  timeline: Timeline,
  weather: Weather,
  choices: Choices,
  { appliesOnce, applied, worked }: TargetWatchers,
): Target => {
  const applications = new Map<string, number>();
  const works = new Map<string, number>();
  const there = new Map<string, boolean>();
  const count = (effect: string): number => applications.get(effect) ?? 0;
  const runs = (work: string): number => works.get(work) ?? 0;

  const apply = (request: Application): void => {
    if (appliesOnce(request.uses) && count(request.effect) > 0) return;
    applications.set(request.effect, count(request.effect) + 1);
    applied(request);
  };

  const respond = (
    place: string,
    answered: (answer: Answer) => void,
    lost: 'answer is lost' | 'end of a program is missed' = 'answer is lost',
  ): void => {
    if (weather.strikes(lost, place)) return;
    const answer: Answer = weather.strikes('target applies and fails', place) ? 'error' : 'applied';
    const back = weather.strikes('answer is slow', place)
      ? choices.between(`slow ${place}`, 0, SLOW_MS)
      : weather.latency(`${place} <`);
    timeline.in(back, () => answered(answer));
  };

  return {
    applications: count,
    launch: (request, answered) => {
      const place = `program ${request.effect}`;
      let over = weather.strikes('request is lost', place);
      const act = (): void => {
        if (over) return;
        over = true;
        apply(request);
        respond(place, answered, 'end of a program is missed');
      };
      const takes = weather.strikes('request is delayed', place)
        ? choices.between(`late ${place}`, 0, LATE_MS)
        : weather.latency(place);
      timeline.in(takes, act);
      return {
        end: () => {
          over = true;
        },
        hurry: act,
      };
    },
    send: (request, answered) => {
      const place = `request ${request.effect}`;
      if (weather.strikes('request is lost', place)) return;
      const way = weather.strikes('request is delayed', place)
        ? choices.between(`late ${place}`, 0, LATE_MS)
        : weather.latency(place);
      timeline.in(way, () => {
        apply(request);
        respond(place, answered);
      });
    },
    worked: (work) => {
      works.set(work.effect, runs(work.effect) + 1);
      worked(work);
    },
    runs,
    put: (repository, label) => void there.set(`${repository} ${label}`, true),
    has: (repository, label) => {
      const place = `${repository} ${label}`;
      const before = there.get(place);
      if (before !== undefined) return before;
      // Some artifacts exist from the start.
      const found = choices.happens(`there ${place}`, 0.3);
      there.set(place, found);
      return found;
    },
  };
};
