import type { StageTools } from './stage.ts';

/** What is worth knowing of a step, and what nothing fails for: where it cannot be found out, its log says so. */
export const orWarn = async <Result>(
  { log }: Pick<StageTools, 'log'>,
  what: string,
  look: () => Promise<Result>,
): Promise<Result | undefined> => {
  try {
    return await look();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    log('stderr', `warning: ${what} could not be found out: ${why}`);
    return undefined;
  }
};
