import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { RemoteOutcome } from '@holdpoint/contracts/effect/remote';
import type { Life } from '../simulation/process-life.ts';
import type { Timeline } from '../simulation/timeline.ts';
import type { Behaviour } from './story.ts';
import type { Target } from './target.ts';

const BEGIN_MS = 2;
const WAY_MS = 4;

export type Started = {
  readonly order: RunEffect;
  readonly epoch: number;
  /** Throws when the lease may be over. */
  readonly assertInForce: () => void;
};

/** The function of a user: it changes the target. */
export const createWork = (timeline: Timeline, target: Target, behaviour: Behaviour) => {
  /** Every call of the function, with its order as it was handed over. */
  const begun: Started[] = [];

  const how = (): 'usual' | 'slow' | 'unheard' => {
    if (begun.length > 1) return 'usual';
    if (behaviour === 'applies slowly') return 'slow';
    return behaviour === 'acts and gets no answer' ? 'unheard' : 'usual';
  };

  const begin = (life: Life): Promise<void> =>
    new Promise((resolve) => void life.clock.after(BEGIN_MS, resolve));

  const act = async (life: Life, started: Started): Promise<RemoteOutcome> => {
    begun.push(started);
    if (behaviour === 'fails before it acts' && begun.length === 1)
      return { kind: 'failed_clean', error: { code: 'REMOTE_DECLINED', message: 'declined' } };
    started.assertInForce();
    const { order, epoch } = started;
    const answered = await target.send(life, { effect: order.id, epoch, args: order.effect.args }, how());
    return answered === true
      ? { kind: 'applied', outputs: { sent: order.id } }
      : { kind: 'unknown', reason: 'no answer' };
  };

  return {
    begun: begun as readonly Started[],
    begin,
    /** What follows {@link begin}. */
    act,
    run: async (life: Life, started: Started): Promise<RemoteOutcome> => {
      await begin(life);
      return act(life, started);
    },
    probe: (life: Life): Promise<'applied' | 'not_applied'> =>
      new Promise((resolve) => {
        // What the target says when the question arrives.
        timeline.in(WAY_MS, () => {
          const found = target.applied.length > 0 ? 'applied' : 'not_applied';
          timeline.in(WAY_MS, () => life.enter(() => resolve(found)));
        });
      }),
  };
};
export type Work = ReturnType<typeof createWork>;
