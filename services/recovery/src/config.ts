import { ServiceEnv } from '@holdpoint/runtime/config';
import { z } from 'zod';
import { CIRCUIT_OPEN_MS } from './domain/recovery.ts';

export const RecoveryEnv = ServiceEnv.extend({
  /** So long nothing is sent to a target that fails, before one order may try whether it is there again. */
  HOLDPOINT_CIRCUIT_OPEN_MS: z.coerce.number().int().min(100).max(3_600_000).default(CIRCUIT_OPEN_MS),
});
export type RecoveryEnv = z.infer<typeof RecoveryEnv>;
