import type { Logger } from '@holdpoint/runtime/log';
import { type RunningService, startService } from '@holdpoint/runtime/service';
import { endpoints } from './api.ts';
import type { OrchestratorEnv } from './config.ts';
import { orchestratorLogic } from './logic.ts';

export const startOrchestrator = (env: OrchestratorEnv, log: Logger): Promise<RunningService> =>
  startService(
    {
      service: 'orchestrator',
      logic: orchestratorLogic(),
      endpoints,
      topologySeedFile: env.HOLDPOINT_NATS_TOPOLOGY_SEED_FILE,
    },
    env,
    log,
  );
