import { join } from 'node:path';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { readEnv, sealKeyFile } from '@holdpoint/runtime/service/config';
import { followSealKey } from '@holdpoint/runtime/service/seal-key';
import { defineService, type ServiceDefinition } from '@holdpoint/runtime/service/service';
import { endpoints } from './api.ts';
import { RecoveryEnv } from './config.ts';
import { attemptsDecider } from './attempts/decide.ts';
import { createCircuitDecider } from './circuit/decide.ts';
import { recoveryMetrics, pollRecovery } from './metrics.ts';
import { createRecoveryLogic } from './bindings.ts';

/** The service as its settings define it. Throws `ConfigError`. */
export const define = (settings: NodeJS.ProcessEnv, log: Logger): ServiceDefinition => {
  const env = readEnv(RecoveryEnv, settings);
  const circuit = createCircuitDecider({ openMs: env.HOLDPOINT_CIRCUIT_OPEN_MS });
  const { kinds, inbound } = createRecoveryLogic({ attempts: attemptsDecider, circuit });
  return defineService(
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
