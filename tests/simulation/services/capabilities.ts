import { CAPABILITIES as KNOWN } from '@holdpoint/contracts/effect/capabilities';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { StepInput } from '@holdpoint/contracts/task/step';
import {
  type Capability,
  CleanFailure,
  type EffectContext,
  type ProbeResult,
} from '@holdpoint/executor/ports/capability';
import { LEASE_MS } from '@holdpoint/executor/effect/timing';
import { z } from 'zod';
import type { Life } from '../process-life.ts';
import { resultOfWork } from './stage-effects.ts';
import type { Answer, Program } from '../outside/target.ts';
import type { World } from '../world.ts';

const Args = z.record(z.string(), z.unknown());
const ANSWER_TIMEOUT_MS = 8_000;
/** Twice a lease: many processes wake up after another one took over. */
const FROZEN_AT_MOST_MS = 2 * LEASE_MS;
const WORKS_MS = 400;

/** For a target that refuses most requests. */
const STUBBORN_REFUSES = 0.6;
const HANDOFF = 'cap.env.builtin.git.handoff';

type Parts = Pick<World, 'target' | 'weather' | 'choices' | 'deadly'>;

/**
 * A capability with the label and class of a real one. As an effect it sends its arguments to the target, as
 * work it runs by itself.
 */
export const simulatedCapability = (
  uses: string,
  life: Life,
  crash: () => void,
  parts: Parts,
): Capability<typeof Args> => {
  const { target, weather, choices, deadly } = parts;
  const freeze = (place: string): void =>
    life.freeze(choices.between(`frozen ${place}`, 0, FROZEN_AT_MOST_MS));
  const answerOf = ({ order }: EffectContext, args: JsonObject): JsonObject =>
    KNOWN[uses]?.stage === true ? resultOfWork(order, StepInput.parse(args), parts) : { sent: order.id };

  const begin = (context: EffectContext, args: JsonObject, place: string): void => {
    if (context.signal.aborted)
      throw new CleanFailure(errorBody('EXECUTOR_CANCELLED', 'cancelled before it began'));
    const stubborn = args['stubborn'] === true && choices.happens(`stubborn ${place}`, STUBBORN_REFUSES);
    if (stubborn || weather.strikes('target refuses', place))
      throw new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'connection refused'));
    if (uses === HANDOFF && weather.strikes('hand-off is lost', place))
      throw new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'nothing could be put by'));
    context.assertInForce();
  };
  /** Some work kills every executor that runs it, until `calmAt`. */
  const takesDown = (id: string): boolean => {
    if (weather.isCalm()) return false;
    if (!deadly.has(id) && weather.strikes('job takes its worker down', `deadly ${id}`)) deadly.add(id);
    return deadly.has(id);
  };
  const underWay = (place: string, id: string): void => {
    if (weather.strikes('freeze while the request is under way', place)) freeze(place);
    if (takesDown(id) || weather.strikes('crash while the request is under way', place)) crash();
  };

  const send = (args: JsonObject, context: EffectContext, place: string): Promise<JsonObject> =>
    new Promise((resolve, reject) => {
      const request = { effect: context.effectId, uses, args };
      let program: Program | undefined;
      const giveUp = life.clock.after(ANSWER_TIMEOUT_MS, () => {
        // A local process is ended before the outcome counts as unknown. A request cannot be recalled.
        program?.end();
        reject(new Error('no answer'));
      });
      const answered = (answer: Answer): void =>
        life.enter(() => {
          giveUp();
          if (answer === 'error') return reject(new Error('the target failed'));
          // It happened, whatever the result says.
          return resolve(resultAfter(context, args));
        });
      if (context.order.effect.effectClass === 'probeable') {
        program = target.launch(request, answered);
        // The local process dies with its executor, or acts just before.
        const { end, hurry } = program;
        life.atEnd(() => (choices.happens(`done before the end ${place}`, 0.3) ? hurry() : end()));
      } else target.send(request, answered);
      underWay(place, context.effectId);
    });

  /** Whether the target has applied it. */
  const probe = (_: unknown, { effectId }: EffectContext): Promise<ProbeResult> =>
    new Promise((resolve, reject) => {
      const place = `probe ${life.name} ${effectId}`;
      life.clock.after(weather.latency(place), () => {
        if (weather.strikes('target refuses', place)) return reject(new Error('connection refused'));
        const found = target.applications(effectId) > 0 ? 'applied' : 'not_applied';
        const outputs = { outcome: 'succeeded' };
        return resolve(
          found === 'applied' ? { found, reason: 'seen', outputs } : { found, reason: 'not seen' },
        );
      });
    });
  const resultAfter = (context: EffectContext, args: JsonObject): JsonObject => {
    try {
      return answerOf(context, args);
    } catch {
      return { outcome: 'failed' };
    }
  };

  const work = (args: JsonObject, context: EffectContext, place: string): Promise<JsonObject> =>
    new Promise((resolve, reject) => {
      const takes = weather.strikes('answer is slow', place)
        ? choices.between(`works ${place}`, 0, ANSWER_TIMEOUT_MS * 2)
        : choices.between(`works ${place}`, 0, WORKS_MS);
      life.clock.after(takes, () => {
        target.worked({ effect: context.effectId, uses, args });
        try {
          resolve(answerOf(context, args));
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
      underWay(place, context.effectId);
    });

  return {
    uses,
    input: Args,
    probe,
    run: (input, context) =>
      new Promise<JsonObject>((resolve, reject) => {
        const args = input as JsonObject;
        const place = `${life.name} ${context.effectId}`;
        if (weather.strikes('freeze before the request leaves', place)) freeze(place);
        life.clock.after(weather.latency(place), () => {
          const carryOut = context.order.effect.kind === 'work' ? work : send;
          try {
            begin(context, args, place);
          } catch (error) {
            return reject(error instanceof Error ? error : new Error(String(error)));
          }
          return void carryOut(args, context, place).then(resolve, reject);
        });
      }),
  };
};
