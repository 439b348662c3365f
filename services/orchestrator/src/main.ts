import { readEnv } from '@holdpoint/runtime/service/config';
import { runProcess } from '@holdpoint/runtime/service/process';
import { OrchestratorEnv, readTiming } from './config.ts';
import { startOrchestrator } from './service.ts';

await runProcess('orchestrator', process.env, async (env, log) =>
  startOrchestrator(readEnv(OrchestratorEnv, env), log, readTiming(env)),
);
