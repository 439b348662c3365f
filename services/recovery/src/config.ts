import { ADVANCED, SealEnv, ServiceEnv, wholeNumber } from '@holdpoint/runtime/service/config';
import type { z } from 'zod';
import { CIRCUIT_OPEN_MS } from './circuit/decide.ts';

export const RecoveryEnv = ServiceEnv.extend({
  ...SealEnv.shape,
  HOLDPOINT_CIRCUIT_OPEN_MS: wholeNumber(100, 3_600_000)
    .default(CIRCUIT_OPEN_MS)
    .describe('Milliseconds that a circuit stays open before one trial order may use the target again')
    .meta(ADVANCED),
});
export type RecoveryEnv = z.infer<typeof RecoveryEnv>;
