import { join } from 'node:path';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { sealKeyFile } from '@holdpoint/runtime/service/config';
import { followSealKey } from '@holdpoint/runtime/service/seal-key';
import { type RunningService, startService } from '@holdpoint/runtime/service/service';
import { endpoints } from './api.ts';
import type { RecoveryEnv } from './config.ts';
import { attemptsDecider } from './attempts/decide.ts';
import { createCircuitDecider } from './circuit/decide.ts';
import { recoveryMetrics, pollRecovery } from './metrics.ts';
import { createRecoveryLogic } from './bindings.ts';

export const startRecovery = (env: RecoveryEnv, log: Logger): Promise<RunningService> => {
  const circuit = createCircuitDecider({ openMs: env.HOLDPOINT_CIRCUIT_OPEN_MS });
  const { kinds, inbound } = createRecoveryLogic({ attempts: attemptsDecider, circuit });
  return startService(
    {
      service: 'recovery',
      migrations: join(import.meta.dirname, '..', 'migrations'),
      seal: followSealKey(sealKeyFile('recovery', env), log),
    },
    ({ pool, meter, poll, verifyIdentity }) => {
      pollRecovery(pool, poll);
      return {
        kinds,
        onCommitted: recoveryMetrics(meter),
        bind: () => ({ inbound, endpoints: endpoints(pool, verifyIdentity) }),
      };
    },
    env,
    log,
  );
};
