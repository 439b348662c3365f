import { DEFAULT_POOL, Pools } from '@holdpoint/contracts/streams';
import { ServiceEnv } from '@holdpoint/runtime/config';
import { z } from 'zod';

export const OrchestratorEnv = ServiceEnv.extend({
  /** Seed of the bus user that may create streams and consumers. Without it they must be there already. */
  HOLDPOINT_NATS_TOPOLOGY_SEED_FILE: z.string().min(1).optional(),
  /** The pools of this deployment, with commas between them: each has a consumer on the bus. */
  HOLDPOINT_POOLS: Pools.default([DEFAULT_POOL]),
});
export type OrchestratorEnv = z.infer<typeof OrchestratorEnv>;
