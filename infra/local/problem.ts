import { EXIT_CONFIG, formerSettings } from '@holdpoint/contracts/values/settings';

/** A failure that the person at the terminal can mend: shown as one line, without a stack. */
export class Problem extends Error {
  override readonly name = 'Problem';
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The line for a failure: an error that is no problem shows its cause. */
export const describeFailure = (error: unknown): string => {
  const hasCause = error instanceof Error && !(error instanceof Problem) && error.cause !== undefined;
  return hasCause ? `${messageOf(error)} (${messageOf(error.cause)})` : messageOf(error);
};

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** An executor of an unlisted pool never becomes ready. */
const unlistedPool = async ({
  HOLDPOINT_EXECUTOR_POOLS: wanted,
  HOLDPOINT_DEPLOYMENT_POOLS: listed,
}: NodeJS.ProcessEnv): Promise<string | undefined> => {
  if (wanted === undefined || wanted === '') return undefined;
  const { poolsIn } = await import('../nats/pools.ts');
  try {
    const pools = poolsIn(listed);
    const pool = poolsIn(wanted).find((each) => !pools.includes(each));
    return pool === undefined
      ? undefined
      : `HOLDPOINT_EXECUTOR_POOLS: ${pool} is not in HOLDPOINT_DEPLOYMENT_POOLS, add it there`;
  } catch (error) {
    return messageOf(error);
  }
};

/**
 * Ends the process on a former name of a setting, which is not passed on, so that no service would refuse it, and on
 * a pool that the bus would refuse.
 */
export const refuseWrongSettings = async (env: NodeJS.ProcessEnv): Promise<void> => {
  const problem = formerSettings(env) ?? (await unlistedPool(env));
  if (problem === undefined) return;
  process.stderr.write(`error CONFIG: ${problem}\n`);
  process.exit(EXIT_CONFIG);
};
