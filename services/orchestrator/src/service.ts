import { consumersFor } from '@holdpoint/contracts/streams';
import type { Logger } from '@holdpoint/runtime/log';
import { type RunningService, startService } from '@holdpoint/runtime/service';
import { shippedFiles } from '@holdpoint/workflows/files/shipped';
import { endpoints } from './api.ts';
import type { OrchestratorEnv } from './config.ts';
import { createTaskDecider } from './domain/decide.ts';
import { builtIn } from './domain/workflows/catalog.ts';
import { stageWorkflows } from './domain/workflows/stages.ts';
import { orchestratorLogic } from './logic.ts';

export const startOrchestrator = (env: OrchestratorEnv, log: Logger): Promise<RunningService> =>
  startService(
    {
      service: 'orchestrator',
      logic: orchestratorLogic(createTaskDecider([...builtIn, ...stageWorkflows(shippedFiles())])),
      endpoints,
      topologySeedFile: env.HOLDPOINT_NATS_TOPOLOGY_SEED_FILE,
      consumers: consumersFor(env.HOLDPOINT_POOLS),
    },
    env,
    log,
  );
