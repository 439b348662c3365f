import { readConfig as readApprovalsConfig } from '@holdpoint/approvals/config';
import { startApprovals } from '@holdpoint/approvals/service';
import { readConfig as readExecutorConfig } from '@holdpoint/executor/config';
import { startExecutor } from '@holdpoint/executor/service';
import { OrchestratorEnv, readTiming } from '@holdpoint/orchestrator/config';
import { startOrchestrator } from '@holdpoint/orchestrator/service';
import { RecoveryEnv } from '@holdpoint/recovery/config';
import { startRecovery } from '@holdpoint/recovery/service';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { readEnv } from '@holdpoint/runtime/service/config';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { RunningService } from '@holdpoint/runtime/service/service';
import { type LogRecord, recordingLogger } from './log-record.ts';

const starters: Readonly<
  Record<ServiceName, (env: NodeJS.ProcessEnv, log: Logger) => Promise<RunningService>>
> = {
  orchestrator: (env, log) => startOrchestrator(readEnv(OrchestratorEnv, env), log, readTiming(env)),
  approvals: (env, log) => startApprovals(readApprovalsConfig(env), log),
  executor: (env, log) => startExecutor(readExecutorConfig(env), log),
  recovery: (env, log) => startRecovery(readEnv(RecoveryEnv, env), log),
};

export type ServiceInProcess = LogRecord & { readonly httpPort: number; readonly stop: () => Promise<void> };

/** The service as `main.ts` starts it, in the process of the test. */
export const startInProcess = async (
  service: ServiceName,
  env: NodeJS.ProcessEnv,
): Promise<ServiceInProcess> => {
  const { log, lines } = recordingLogger(service);
  const { httpPort, stop } = await starters[service](env, log);
  return { httpPort, stop, lines };
};
