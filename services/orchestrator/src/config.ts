import { DEFAULT_POOL, Pools } from '@holdpoint/contracts/bus/streams';
import { readEnv, SealEnv, ServiceEnv } from '@holdpoint/runtime/service/config';
import { z } from 'zod';
import { orchestratorTiming, type Timing } from './timing.ts';

export const OrchestratorEnv = ServiceEnv.extend({
  ...SealEnv.shape,
  HOLDPOINT_NATS_TOPOLOGY_SEED_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File with the nkey seed or the `.creds` of the bus user that creates streams and consumers. Unset: they must exist already',
    ),
  HOLDPOINT_DEPLOYMENT_POOLS: Pools.default([DEFAULT_POOL]).describe(
    'All executor pools of the deployment, comma-separated; each gets a consumer on the bus. The NATS configuration must list the same pools',
  ),
  HOLDPOINT_STREAM_REPLICAS: z
    .enum(['1', '3', '5'], { error: '1, 3 or 5' })
    .default('1')
    .transform(Number)
    .describe('Number of NATS servers that store each stream: 1, 3 or 5. A majority of them must be up'),
});
export type OrchestratorEnv = z.infer<typeof OrchestratorEnv>;

/** For tests only, so it is no documented setting. */
const TestEnv = z.object({
  HOLDPOINT_TEST_RESEND_MS: z.coerce.number().int().min(100).max(60_000).optional(),
  HOLDPOINT_TEST_ACK_WAIT_MS: z.coerce.number().int().min(1_000).max(60_000).optional(),
});

export const readTiming = (environment: NodeJS.ProcessEnv): Timing => {
  const { HOLDPOINT_TEST_RESEND_MS, HOLDPOINT_TEST_ACK_WAIT_MS } = readEnv(TestEnv, environment);
  return orchestratorTiming(HOLDPOINT_TEST_RESEND_MS, HOLDPOINT_TEST_ACK_WAIT_MS);
};
