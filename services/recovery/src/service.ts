import type { Logger } from '@holdpoint/runtime/log';
import { type RunningService, startService } from '@holdpoint/runtime/service';
import { endpoints } from './api.ts';
import type { RecoveryEnv } from './config.ts';
import { recoveryLogic } from './logic.ts';

export const startRecovery = (env: RecoveryEnv, log: Logger): Promise<RunningService> =>
  startService({ service: 'recovery', logic: recoveryLogic, endpoints }, env, log);
