import { errorBody } from '@holdpoint/contracts/errors';
import type { Json, JsonObject } from '@holdpoint/contracts/json';
import { type Capability, CleanFailure } from '@holdpoint/executor/capabilities/capability';
import { LEASE_MS } from '@holdpoint/executor/domain/effect';
import { z } from 'zod';
import type { Choices } from './choices.ts';
import type { Life } from './life.ts';
import type { Target } from './target.ts';
import type { Weather } from './weather.ts';

const Args = z.record(z.string(), z.unknown());
const ANSWER_TIMEOUT_MS = 8_000;
/** Twice a lease: many wake up while somebody else is at it. */
const FROZEN_AT_MOST_MS = 2 * LEASE_MS;

/** A capability that sends its arguments to the target. Labels and classes are those of real capabilities. */
export const sendingCapability = (
  uses: string,
  life: Life,
  crash: () => void,
  target: Target,
  weather: Weather,
  choices: Choices,
): Capability<typeof Args> => {
  const freeze = (place: string): void =>
    life.freeze(choices.between(`frozen ${place}`, 0, FROZEN_AT_MOST_MS));
  return {
    uses,
    input: Args,
    run: (args, { effectId, assertInForce, signal }) =>
      new Promise<JsonObject>((resolve, reject) => {
        const place = `${life.name} ${effectId}`;
        const request = { effect: effectId, uses, args: args as Json };
        if (weather.strikes('freeze before the request leaves', place)) freeze(place);
        life.clock.after(weather.latency(place), () => {
          try {
            if (signal.aborted)
              throw new CleanFailure(errorBody('EXECUTOR_CANCELLED', 'cancelled before it began'));
            if (weather.strikes('target refuses', place))
              throw new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'connection refused'));
            assertInForce();
          } catch (error) {
            return reject(error);
          }
          const giveUp = life.clock.after(ANSWER_TIMEOUT_MS, () => reject(new Error('no answer')));
          target.send(request, (answer) =>
            life.enter(() => {
              giveUp();
              if (answer === 'applied') resolve({ sent: effectId });
              else reject(new Error('the target failed'));
            }),
          );
          if (weather.strikes('freeze while the request is under way', place)) freeze(place);
          if (weather.strikes('crash while the request is under way', place)) crash();
        });
      }),
  };
};
