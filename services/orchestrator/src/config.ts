import { ServiceEnv } from '@holdpoint/runtime/config';
import { z } from 'zod';

export const OrchestratorEnv = ServiceEnv.extend({
  /** Seed of the bus user that may create streams and consumers. Without it they must be there already. */
  HOLDPOINT_NATS_TOPOLOGY_SEED_FILE: z.string().min(1).optional(),
});
export type OrchestratorEnv = z.infer<typeof OrchestratorEnv>;
