import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Life } from '../simulation/process-life.ts';
import type { Timeline } from '../simulation/timeline.ts';

export type Request = { readonly effect: string; readonly epoch: number; readonly args: JsonObject };

const WAY_MS = 4;
/** Longer than a lease: only beats keep the start in force. */
const SLOW_MS = 25_000;
const ANSWER_TIMEOUT_MS = 8_000;

/** The outside system: the ground truth of a story. It recognises repeats as its class promises. */
export const createTarget = (timeline: Timeline, effectClass: EffectClass) => {
  const applied: Request[] = [];
  const refused: Request[] = [];
  let fence = 0;

  const takes = ({ epoch }: Request): boolean => {
    if (effectClass === 'keyed') return applied.length === 0;
    if (effectClass !== 'fenced') return true;
    // It has what an approver expected only until it was changed, and knows the highest epoch.
    const open = epoch >= fence && applied.length === 0;
    fence = Math.max(fence, epoch);
    return open;
  };

  /**
   * Sends a request and resolves with its answer, or to undefined without one. A probeable effect is a local process: it ends with
   * the process that began it, and is not over before its result is known.
   */
  const send = (life: Life, request: Request, how: 'usual' | 'slow' | 'unheard'): Promise<true | undefined> =>
    new Promise((resolve) => {
      const isLocal = effectClass === 'probeable';
      const giveUp =
        how === 'slow' ? () => undefined : life.clock.after(ANSWER_TIMEOUT_MS, () => resolve(undefined));
      const callOff = timeline.in(how === 'slow' ? SLOW_MS : WAY_MS, () => {
        (takes(request) ? applied : refused).push(request);
        if (how !== 'unheard')
          timeline.in(WAY_MS, () =>
            life.enter(() => {
              giveUp();
              resolve(true);
            }),
          );
      });
      if (isLocal) life.atEnd(callOff);
    });

  return {
    send,
    /** Requests that changed something. */
    applied: applied as readonly Request[],
    /** Requests that were recognised as repeats. */
    refused: refused as readonly Request[],
  };
};
export type Target = ReturnType<typeof createTarget>;
