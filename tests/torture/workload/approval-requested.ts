import type { Recorder } from '../bus-recorder.ts';

/** The limit for lost events: then the client polls. */
const LOOK_AFTER_MS = 10_000;

/** Resolves when an approval is requested, by event or by polling. */
export const createRequested = (recorder: Recorder): ((approval: string) => Promise<void>) => {
  const seen = new Set<string>();
  const waiting = new Map<string, () => void>();
  recorder.onFact(({ aggregate, type, id }) => {
    if (aggregate !== 'approval' || type !== 'requested') return;
    seen.add(id);
    waiting.get(id)?.();
    waiting.delete(id);
  });
  return (approval) =>
    new Promise((resolve) => {
      if (seen.has(approval)) return resolve();
      const timer = setTimeout(resolve, LOOK_AFTER_MS);
      const others = waiting.get(approval);
      waiting.set(approval, () => {
        others?.();
        clearTimeout(timer);
        resolve();
      });
    });
};
