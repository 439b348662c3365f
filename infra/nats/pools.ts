import { DEFAULT_POOL, Pools } from '@holdpoint/contracts/bus/streams';

/** The pools of a deployment, from `HOLDPOINT_DEPLOYMENT_POOLS`; the default pool if it is not set. */
export const poolsIn = (text = ''): readonly string[] => {
  if (text === '') return [DEFAULT_POOL];
  const { success, data, error } = Pools.safeParse(text);
  if (!success)
    throw new Error(`HOLDPOINT_DEPLOYMENT_POOLS: ${error.issues.map(({ message }) => message).join('; ')}`);
  return data;
};
