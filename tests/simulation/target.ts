import type { Json } from '@holdpoint/contracts/json';
import type { Choices } from './choices.ts';
import type { Timeline } from './timeline.ts';
import type { Weather } from './weather.ts';

/** What reached the outside world: the ground truth. */
export type Application = {
  readonly effect: string;
  readonly uses: string;
  readonly args: Json;
};

export type Answer = 'applied' | 'error';

/** The outside world. A `keyed` target remembers the keys that it has seen; an `opaque` one does whatever it is told. */
export type Target = {
  /** A request that has left. It may arrive late or never, and so may its answer, whatever became of its sender. */
  readonly send: (request: Application, answered: (answer: Answer) => void) => void;
  readonly applications: (effect: string) => number;
};

const LATE_MS = 60_000;
const SLOW_MS = 8_000;

export const createTarget = (
  timeline: Timeline,
  weather: Weather,
  choices: Choices,
  isKeyed: (uses: string) => boolean,
  applied: (application: Application) => void,
): Target => {
  const applications = new Map<string, number>();
  const count = (effect: string): number => applications.get(effect) ?? 0;

  const apply = (request: Application): void => {
    if (isKeyed(request.uses) && count(request.effect) > 0) return;
    applications.set(request.effect, count(request.effect) + 1);
    applied(request);
  };

  return {
    applications: count,
    send: (request, answered) => {
      const place = `request ${request.effect}`;
      if (weather.strikes('request is lost', place)) return;
      const way = weather.strikes('request is delayed', place)
        ? choices.between(`late ${place}`, 0, LATE_MS)
        : weather.latency(place);
      timeline.in(way, () => {
        apply(request);
        if (weather.strikes('answer is lost', place)) return;
        const answer: Answer = weather.strikes('target applies and fails', place) ? 'error' : 'applied';
        const back = weather.strikes('answer is slow', place)
          ? choices.between(`slow ${place}`, 0, SLOW_MS)
          : weather.latency(`${place} <`);
        timeline.in(back, () => answered(answer));
      });
    },
  };
};
