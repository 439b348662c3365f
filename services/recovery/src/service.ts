import { join } from 'node:path';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { type RunningService, startService } from '@holdpoint/runtime/service/service';
import { endpoints } from './api.ts';
import type { RecoveryEnv } from './config.ts';
import { createRecoveryDecider } from './attempts/decide.ts';
import { recoveryMetrics, pollRecovery } from './metrics.ts';
import { createRecoveryLogic } from './bindings.ts';

export const startRecovery = (env: RecoveryEnv, log: Logger): Promise<RunningService> => {
  const decider = createRecoveryDecider({ openMs: env.HOLDPOINT_CIRCUIT_OPEN_MS });
  return startService(
    {
      service: 'recovery',
      logic: createRecoveryLogic(decider),
      migrations: join(import.meta.dirname, '..', 'migrations'),
      figures: recoveryMetrics,
      endpoints: (pool) => endpoints(pool, decider),
      attend: (pool, _engine, _announce, _artifacts, { sample }) => {
        pollRecovery(pool, sample);
        return { stop: () => Promise.resolve() };
      },
    },
    env,
    log,
  );
};
