import type { StageTools } from './tools.ts';

/** Optional information about a step: on an error a warning is logged. */
export const orWarn = async <Result>(
  { log }: Pick<StageTools, 'log'>,
  what: string,
  look: () => Promise<Result>,
): Promise<Result | undefined> => {
  try {
    return await look();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    log('stderr', `warning: cannot determine ${what}: ${why}`);
    return undefined;
  }
};
