import { ServiceEnv, wholeNumber } from '@holdpoint/runtime/service/config';
import type { z } from 'zod';
import { CIRCUIT_OPEN_MS } from './attempts/decide.ts';

export const RecoveryEnv = ServiceEnv.extend({
  HOLDPOINT_CIRCUIT_OPEN_MS: wholeNumber(100, 3_600_000)
    .default(CIRCUIT_OPEN_MS)
    .describe(
      'Milliseconds for which nothing is sent to a target that fails, before one order may try whether it is there again',
    ),
});
export type RecoveryEnv = z.infer<typeof RecoveryEnv>;
