import { DEFAULT_POOL, Pools } from '@holdpoint/contracts/bus/streams';
import { ServiceEnv } from '@holdpoint/runtime/service/config';
import { z } from 'zod';

export const OrchestratorEnv = ServiceEnv.extend({
  HOLDPOINT_NATS_TOPOLOGY_SEED_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File with the nkey seed of the bus user that may create streams and consumers; without it they must be there already',
    ),
  HOLDPOINT_POOLS: Pools.default([DEFAULT_POOL]).describe(
    'Every pool of the deployment, with commas between them: each has a consumer on the bus. Whatever writes the configuration of NATS has to name the same',
  ),
  HOLDPOINT_STREAM_REPLICAS: z
    .enum(['1', '3', '5'], { error: '1, 3 or 5' })
    .default('1')
    .transform(Number)
    .describe(
      'On how many servers of a NATS cluster each stream is kept: 1, 3 or 5, of which most have to be there',
    ),
});
export type OrchestratorEnv = z.infer<typeof OrchestratorEnv>;
