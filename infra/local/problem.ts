import { formerSettings } from '@holdpoint/contracts/values/former-settings';

/** A failure that the person at the terminal can mend: shown as one line, without a stack. */
export class Problem extends Error {
  override readonly name = 'Problem';
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** sysexits.h: the configuration is wrong. The services end with it too. */
const EXIT_CONFIG = 78;

/** Ends the process on a former name of a setting: it is not passed on, so that no service would refuse it. */
export const refuseFormerSettings = (env: NodeJS.ProcessEnv): void => {
  const problem = formerSettings(env);
  if (problem === undefined) return;
  process.stderr.write(`error CONFIG: ${problem}\n`);
  process.exit(EXIT_CONFIG);
};
