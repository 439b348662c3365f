import { DEFAULT_POOL, Pools } from '@holdpoint/contracts/streams';
import { ServiceEnv } from '@holdpoint/runtime/config';
import { z } from 'zod';

export const OrchestratorEnv = ServiceEnv.extend({
  /** Seed of the bus user that may create streams and consumers. Without it they must be there already. */
  HOLDPOINT_NATS_TOPOLOGY_SEED_FILE: z.string().min(1).optional(),
  /** The pools of this deployment, with commas between them: each has a consumer on the bus. */
  HOLDPOINT_POOLS: Pools.default([DEFAULT_POOL]),
  /** On how many servers of a NATS cluster each stream is kept: an odd number, of which most have to be there. */
  HOLDPOINT_STREAM_REPLICAS: z.enum(['1', '3', '5'], { error: '1, 3 or 5' }).default('1').transform(Number),
});
export type OrchestratorEnv = z.infer<typeof OrchestratorEnv>;
