import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from './log.ts';

/** Runs a job again and again, `everyMs` after it last ended, with up to a fifth of that added so that replicas spread. */
export const startPeriodic = (
  name: string,
  everyMs: number,
  job: () => Promise<unknown> | void,
  log: Logger,
): { readonly stop: () => Promise<void> } => {
  let stopped = false;
  let timer: NodeJS.Timeout;
  let running: Promise<unknown> = Promise.resolve();
  const plan = (): void => {
    timer = setTimeout(run, everyMs * (1 + Math.random() / 5));
  };
  const run = (): void => {
    running = Promise.resolve()
      .then(job)
      .catch((error: unknown) => log.warn({ ...errorFields(error), job: name }, 'periodic job failed'))
      .finally(() => {
        if (!stopped) plan();
      });
  };
  plan();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
};
