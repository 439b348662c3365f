import { define as approvals } from '@holdpoint/approvals/service';
import { define as executor } from '@holdpoint/executor/service';
import { define as orchestrator } from '@holdpoint/orchestrator/service';
import { define as recovery } from '@holdpoint/recovery/service';
import { CORE_SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { readEnv, ServiceEnv } from '@holdpoint/runtime/service/config';
import { type Define, settingsOf } from '@holdpoint/runtime/service/process';
import { startServices } from '@holdpoint/runtime/service/run-services';
import type { ServiceDefinition } from '@holdpoint/runtime/service/service';
import { type LogRecord, recordingLogger } from './log-record.ts';

const defines: Readonly<Record<ServiceName, Define>> = { orchestrator, approvals, executor, recovery };

export type ServiceInProcess = LogRecord & { readonly httpPort: number; readonly stop: () => Promise<void> };

/** The service as `main.ts` starts it, or the core, in the process of the test. */
export const startInProcess = async (
  service: ServiceName | 'core',
  env: NodeJS.ProcessEnv,
): Promise<ServiceInProcess> => {
  const { log, lines } = recordingLogger(service);
  const names = service === 'core' ? CORE_SERVICES : [service];
  const definitions: ServiceDefinition[] = [];
  for (const name of names) definitions.push(await defines[name](settingsOf(env, name), log));
  const core = service === 'core' ? readEnv(ServiceEnv, settingsOf(env, 'core')) : undefined;
  const { httpPort, stop } = await startServices(definitions, core);
  return { httpPort, stop, lines };
};
